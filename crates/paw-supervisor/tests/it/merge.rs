//! Merges on real repositories.

mod checkout;
mod crash;
mod order;
mod rebase;
mod regression;
mod world;
