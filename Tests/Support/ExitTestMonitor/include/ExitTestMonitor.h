// Replaces waitid(2) for one thread of Swift Testing: see ExitTestMonitor.c. It declares nothing: who links it has it.
