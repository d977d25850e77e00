// What the parts of the connection manager share: its jobs, the steps of one, and what becomes of the entry in hand.
package nic_net_manager_pkg;
  typedef enum logic [1:0] {JobCommand, JobDead, JobTx, JobRx} job_e;

  typedef enum logic [3:0] {
    StepIdle,
    StepFreeze,    // until all stands still
    StepRead,      // the slot
    StepConsider,  // what is in it
    StepFetch,     // the entry from host memory
    StepFetched,
    StepCheck,     // what came
    StepSet,       // the slot
    StepBypass,    // a frame is tried with the entry that was fetched
    StepAck,       // goes out for the entry that is to be stored
    StepStore,     // an entry to host memory
    StepStored,
    StepDone,
    StepUse        // until the entry has been of use
  } step_e;

  // What the entry in hand becomes: one of these, or it stays.
  typedef struct packed {
    logic occupant;  // what is in the slot
    logic opened;    // what the host opens
    logic changed;   // what the host gives, with the transport's state of the one that it changes
    logic closed;    // zero
  } becomes_t;

  // What is in the slot that is considered.
  typedef struct packed {
    logic occupied;
    logic own;     // by the connection that the job is about
    logic in_use;  // lines of it are in flight
    logic owes;    // an acknowledgement
  } slot_t;

  // What was fetched.
  typedef struct packed {
    logic error;
    logic known;        // the entry that was asked for
    logic from_source;  // of a frame: its sender is the connection's other end
    logic with_key;
  } fetched_t;
endpackage
