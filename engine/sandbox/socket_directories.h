// SocketDirectories: the directories in which hosts may make Unix sockets, as they were when the sandbox was entered,
// and why a socket was refused all the same.
//
// Landlock's rules are of directories, not of names: one that is removed and made anew has no rule, and none can be
// added. Root without CAP_DAC_OVERRIDE is to a directory of another user's what any user is. Both look like a path that
// the sandbox does not allow (EACCES), and have other ways out.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace drover::engine::sandbox {

class SocketDirectories {
 public:
  // None is limited.
  SocketDirectories() = default;
  // Looks at them now. `limited`: sockets can be made below these only.
  SocketDirectories(const std::vector<std::string>& paths, bool limited);

  // To be added to the error of a path at which no socket could be made (EACCES): the cause and the way out, behind
  // "; ". Empty: it is none of those known here. Looks at the file system; any thread.
  std::string why_refused(const std::string& path) const;
  // Those in which this process may make no file, by their owner and mode: a line each, as above.
  std::vector<std::string> closed() const;

 private:
  struct Directory {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
    bool there = false;
  };
  bool has_rule(const std::string& directory) const;

  std::vector<Directory> directories_;
  bool limited_ = false;
};

}  // namespace drover::engine::sandbox
