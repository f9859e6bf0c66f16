//! Policies for seamfs: observation, sandbox modes and rules over the one gate.
