// SPDX-License-Identifier: Apache-2.0
//
// Serves live event lines to `routelens watch` over a local socket, one line for each event.
// A client says "summary\n" or "all\n" once; until then it gets nothing.
//
// Never blocks: each client has a bounded buffer; lines that do not fit are counted and the count
// is told when there is room again. More clients than the limit are refused. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace routelens {

struct WatchLimits {
  size_t max_clients = 16;
  size_t max_buffered_bytes = 256u << 10;  // for each client
};

enum class WatchDetail { kSummary, kAll };

// Where sockets of running sessions lie, most private first: for the user `uid` with the given
// XDG_RUNTIME_DIR ("" if unset).
std::vector<std::string> WatchDirectories(uid_t uid, const std::string& xdg_runtime_dir);

class WatchServer {
 public:
  // Makes <directory>/<id>.sock, mode 0600, in the first directory that can have it; the directory
  // is made with mode 0700 if need be and must belong to `owner` or root. The socket belongs to
  // `owner`. `dropped_line` renders the notice for a client that was too slow.
  static absl::StatusOr<std::unique_ptr<WatchServer>> Listen(
      const std::vector<std::string>& directories, const std::string& id,
      std::optional<std::pair<uid_t, gid_t>> owner,
      std::function<std::string(uint64_t dropped)> dropped_line, WatchLimits limits = {});
  ~WatchServer();
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  // Readable when Turn has something to do.
  int poll_fd() const { return epoll_.get(); }

  void Turn();

  // `line` without its newline. Summary lines go to every client, others to those that want all.
  void Publish(std::string_view line, WatchDetail detail);
  bool anyone_wants(WatchDetail detail) const;

  const std::string& path() const { return path_; }

  // What Turn and Publish need in a process that was forked before anybody connected.
  std::vector<int> fds() const { return {listener_.get(), epoll_.get()}; }

  // Removes the socket's name; what is connected stays. Done by the destructor of the maker only.
  void Unlink();

 private:
  struct Client {
    UniqueFd fd;
    std::optional<WatchDetail> detail;
    std::string buffer;
    uint64_t dropped = 0;
    bool waits_to_write = false;
  };

  WatchServer(UniqueFd directory, UniqueFd listener, UniqueFd epoll, std::string path,
              std::function<std::string(uint64_t)> dropped_line, WatchLimits limits);
  void Accept();
  bool ReadRequest(Client& client);
  bool Flush(Client& client);

  UniqueFd directory_;
  UniqueFd listener_;
  UniqueFd epoll_;
  std::string path_;
  std::function<std::string(uint64_t)> dropped_line_;
  WatchLimits limits_;
  std::map<int, Client> clients_;
  pid_t maker_;
};

}  // namespace routelens
