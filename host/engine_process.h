// EngineProcess: droverd as our child, and the place of its control socket, so that a restarted host finds a living
// engine with the same listening address.
//
//   <directory>/<pid>-<n>.sock                    a control socket; its name is unique
//   <directory>/at-<address>  ->  <pid>-<n>.sock  left behind for each address that the engine listens on for us
//
// <directory> is $XDG_RUNTIME_DIR/drover, or else /tmp/drover-<uid>; mode 0700, refused if another user owns it.
//
// The child is in a process group of its own (a ^C at the terminal is the host's to handle), inherits no descriptor but
// stderr, to which its stdout goes too, and the sockets of host/activated_sockets.h, and has default signal
// dispositions.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "host/options.h"

namespace drover::host {

class EngineProcess {
 public:
  EngineProcess() = default;
  EngineProcess(EngineProcess&& other) noexcept;
  EngineProcess& operator=(EngineProcess&& other) noexcept;
  ~EngineProcess();  // as `end`

  // Starts the engine, which will listen on `control_path` soon. Null: `error` says what was tried.
  static std::optional<EngineProcess> start(const HostOptions& options, const std::string& control_path,
                                            std::string* error);

  pid_t pid() const { return pid_; }
  // Looks without waiting. False: it has ended; `how` says how ("exit status 2", "signal 9").
  bool alive(std::string* how);
  // Waits for it to end by itself; false: it has not. True also without a process.
  bool ends_within(int patience_ms);
  // Leaves it running; it does not become a zombie when it ends while this process lives.
  void leave();
  // Waits for it to end by itself, which it does once its last host has detached; then sends SIGTERM, then SIGKILL.
  void end(int patience_ms);

 private:
  bool reap(bool block, int timeout_ms);

  pid_t pid_ = 0;
  int wait_status_ = 0;
};

// What an engine of ours is started with, the program first. `control_path` may be empty.
std::vector<std::string> engine_arguments(const HostOptions& options, const std::string& program,
                                          const std::string& control_path);

// The executable's path; empty: not found, and `error` lists the places.
std::string find_droverd(const HostOptions& options, std::string* error);

// The directory above, made if it does not exist; empty: `error` says why not.
std::string control_directory(std::string* error);
std::string new_control_path(const std::string& directory);
// The link to the engine that listens on `address` for this user.
std::string address_link(const std::string& directory, const std::string& address);
// Points a link to a socket of the same directory; replaces an old one.
bool publish_link(const std::string& link, const std::string& control_path);
// Where a link points; empty: there is no link of that name.
std::string link_target(const std::string& link);
// Removes the link if it still points there.
void withdraw_link(const std::string& link, const std::string& control_path);
// Removes the remains of killed engines: dangling links, and sockets without a listener. Keeps everything younger than
// a minute: it may be about to be used.
void sweep_control_directory(const std::string& directory);

}  // namespace drover::host
