// Separation of a process that runs a plugin from all others.
#pragma once

namespace cli {

// Forks. Returns in a child: the leader of a new session and, where the system allows it, in a
// new process namespace; it cannot signal or trace the processes that watch it. The caller waits for
// the child, writes its status, as from waitpid, to the descriptor `report`, and exits; it does not
// return. With the child, or where the caller is killed, all processes end that the child has started,
// in other sessions and groups, too. Call it before other threads start. Returns whether there is a
// namespace.
bool enter_sandbox(int report);

}  // namespace cli
