// How other commands of the same user reach a running `tally run`: by its process id, by the id of
// a process that it started, or by the capture that it writes. The names are those of abstract
// sockets, so nothing is left behind. They end in a random number, so another user cannot bind them
// first; who looks for one finds it in /proc/net/unix. Both sides check the user of the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace tally::cli {

class ControlServer {
 public:
  // Answers a request. The answer of a request that is refused begins with kRefusal. Called on the
  // server's thread.
  using Handler = std::function<std::string(const std::string& request)>;

  // `file`: the capture, which exists.
  static Result<std::unique_ptr<ControlServer>> start(const std::string& file, Handler handler);
  ~ControlServer();

 private:
  ControlServer(std::vector<UniqueFd> listeners, UniqueFd wake, Handler handler);
  void run();
  void serve(int listener);

  const std::vector<UniqueFd> listeners_;
  const UniqueFd wake_;
  const Handler handler_;
  std::thread thread_;
};

inline constexpr const char* kRefusal = "no: ";

// Requests: "frames" and "frames N" capture the next frames; kReleaseRequest ends the capture, and
// the application runs on.
inline constexpr const char* kReleaseRequest = "release";
inline constexpr const char* kFileRequest = "file";  // the path of the capture

// Sends a request to the `tally run` that `target` names: a process id, or a capture. The error
// says why there is none, or what it refused.
Result<std::string> ask_run(const std::string& target, const std::string& request);

}  // namespace tally::cli
