//! Merging on real repositories: every branch of what can happen to a branch.

mod checkout;
mod crash;
mod order;
mod rebase;
mod regression;
mod world;
