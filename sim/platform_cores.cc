// Both directions on a SmartNIC's cores: the steps of sim/cores.h, one after the other.
#include "sim/platform.h"

namespace drover::sim {

CoresWork Platform::cores_work(const Job& job) const {
  return cores_work_of(system_, costs_.work[job.message], host_.messages[job.message]);
}

void Platform::receive_on_cores(Job* job) {
  job->leg.outcome = Outcome::kCores;
  cores_step(job, cores_work(*job).receive, 0, 0);
}

void Platform::send_on_cores(Job* job) {
  job->leg.outcome = Outcome::kCores;
  cores_step(job, cores_work(*job).send, 0, 0);
}

void Platform::cores_step(Job* job, std::vector<CoresStep> steps, size_t i, Time transfers_end) {
  if (i == steps.size()) {
    return at(std::max(time(), transfers_end), [this, job] { finish(job); });
  }
  Time begins = std::max(time(), cores_.free);
  cores_.free = begins + steps[i].compute;
  at(cores_.free, [this, job, steps = std::move(steps), i, transfers_end]() mutable {
    const CoresStep& step = steps[i];
    Time end = step.written != 0 ? link_.write(time(), step.written, packet_buffer(step.written)).arrived
               : step.read != 0  ? link_.read(time(), step.read, packet_buffer(step.read)).done
                                 : time();
    Time next = step.waits ? std::max(end, transfers_end) : time();
    transfers_end = std::max(end, transfers_end);
    at(next, [this, job, steps = std::move(steps), i, transfers_end]() mutable {
      cores_step(job, std::move(steps), i + 1, transfers_end);
    });
  });
}

}  // namespace drover::sim
