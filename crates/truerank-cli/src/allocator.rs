//! Ends the program with a clear line where the system gives no more memory, instead of aborting.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use truerank::memory::{Memory, may_be_refused};

/// The system's allocator, whose refusals end the program unless someone asked whether there is room.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: all is the system's; what it refuses is returned as it is, or not at all.
#[allow(unsafe_code, reason = "an allocator is the only place that hears of a refusal before Rust aborts")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as promised by the caller.
        given(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn given(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() && !may_be_refused() { end(size) } else { memory }
}

/// Says why the program ends, without allocating, and ends it at once: other threads may be in the middle of anything.
#[cold]
fn end(size: usize) -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    while ENDS.swap(true, Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(1));
    }
    let size = Memory::new(size as u64);
    let _ = writeln!(
        std::io::stderr(),
        "error: the system gives no more memory ({size} were asked for); raise its limit (ulimit -v), or use less --memory or \
         fewer --threads"
    );
    #[cfg(unix)]
    signal_hook::low_level::exit(2);
    #[cfg(not(unix))]
    std::process::exit(2)
}
