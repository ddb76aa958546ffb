//! Order between a launch and the one behind it, which may start before it ends: programmatic
//! dependent launch (PTX ISA, "griddepcontrol"). Without that both do nothing.

/// Lets the launch behind this one start where it finds room, once every block of this one has called
/// this or ended (`griddepcontrol.launch_dependents`).
#[inline(always)]
pub fn let_next_start() {
    // SAFETY: touches no memory.
    unsafe {
        ptx!("griddepcontrol.launch_dependents;", options(nostack));
    }
}

/// Waits for the end of the launch before this one; what it wrote is visible then
/// (`griddepcontrol.wait`).
#[inline(always)]
pub fn wait_for_last() {
    // SAFETY: orders accesses; makes none of its own.
    unsafe {
        ptx!("griddepcontrol.wait;", options(nostack));
    }
}
