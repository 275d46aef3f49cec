//! Where a test makes the kernel fail. Every change to a file passes a point here; outside tests there is nothing in it.

#[cfg(not(test))]
pub(super) const fn point(_: &'static str) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use test::point;
#[cfg(test)]
pub(crate) use test::{Mode, inject};

#[cfg(test)]
mod test {
    use std::cell::RefCell;
    use std::io;

    /// What happens at the chosen point.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub(crate) enum Mode {
        /// That call fails, later ones work: a disk error.
        Once,
        /// Every later call fails as well: what is left behind is what a kill at that call leaves behind.
        Dead,
    }

    thread_local! {
        /// Points passed, where to fail, and how.
        static PLAN: RefCell<(usize, Option<(usize, Mode)>)> = const { RefCell::new((0, None)) };
    }

    /// Runs `work` with the point number `at` (from 0) failing; returns how many points were passed too.
    pub(crate) fn inject<T>(fault: Option<(usize, Mode)>, work: impl FnOnce() -> T) -> (T, usize) {
        PLAN.with_borrow_mut(|plan| *plan = (0, fault));
        let result = work();
        let passed = PLAN.with_borrow_mut(|plan| std::mem::take(plan).0);
        (result, passed)
    }

    pub(in crate::files) fn point(call: &'static str) -> io::Result<()> {
        PLAN.with_borrow_mut(|(passed, fault)| {
            let now = *passed;
            *passed += 1;
            match *fault {
                Some((at, Mode::Once)) if at == now => Err(io::Error::other(format!("injected at {call}"))),
                Some((at, Mode::Dead)) if at <= now => Err(io::Error::other(format!("killed at {call}"))),
                _ => Ok(()),
            }
        })
    }
}
