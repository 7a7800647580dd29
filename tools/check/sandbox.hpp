// Separation of a process that runs a plugin from all others.
#pragma once

namespace cli {

// Forks. Returns in a child: the leader of a new session and, where the system allows it, in a
// new process namespace, all of which ends with it; it cannot signal or trace the processes that
// watch it. The caller waits for the child, writes its status, as from waitpid, to the descriptor
// `report`, and exits; it does not return. Call it before other threads start. Returns whether
// there is a namespace.
bool enter_sandbox(int report);

}  // namespace cli
