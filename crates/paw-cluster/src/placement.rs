//! Which machine an agent runs on if the user leaves the choice to git paw. Pure.

use paw_core::HostName;

/// `BRANCH@auto` leaves the choice to git paw.
pub const AUTO: &str = "auto";

/// The room on one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSlots {
    pub name: HostName,
    /// How many agents of a session may run there.
    pub slots: usize,
    pub used: usize,
}

/// The machines with free slots, the one with the most first.
pub fn candidates(hosts: &[HostSlots]) -> Vec<&HostSlots> {
    let mut free: Vec<_> = hosts.iter().filter(|host| host.used < host.slots).collect();
    free.sort_by_key(|host| (std::cmp::Reverse(host.slots - host.used), &host.name));
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_placed_where_most_slots_are_free() {
        let host = |name: &str, slots, used| HostSlots { name: HostName::new(name).unwrap(), slots, used };
        let hosts = [host("a", 2, 2), host("b", 4, 3), host("c", 3, 1), host("d", 0, 0), host("aa", 1, 0)];
        let names: Vec<_> = candidates(&hosts).iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["c", "aa", "b"]);
    }
}
