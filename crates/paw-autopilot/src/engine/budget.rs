//! Time and cost limits of a run, and the backoff between retries.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of a run. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Budget {
    pub time: Option<Duration>,
    /// In millionths of a dollar.
    pub cost: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spending {
    pub time: Duration,
    pub cost: u64,
}

impl Spending {
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self { time: self.time.saturating_add(more.time), cost: self.cost.saturating_add(more.cost) }
    }
}

impl Budget {
    /// Describes the limit that was exceeded.
    pub fn exceeded(&self, spent: Spending) -> Option<String> {
        if let Some(limit) = self.time.filter(|limit| spent.time > *limit) {
            return Some(format!("it took {}s of {}s", spent.time.as_secs(), limit.as_secs()));
        }
        let limit = self.cost.filter(|limit| spent.cost > *limit)?;
        Some(format!("it cost ${} of ${}", dollars(spent.cost), dollars(limit)))
    }
}

fn dollars(millionths: u64) -> String {
    format!("{}.{:02}", millionths / 1_000_000, millionths % 1_000_000 / 10_000)
}

/// Retries after temporary executor failures.
pub const MAX_RETRIES: u32 = 5;

/// Doubles each time, from 5 seconds to 5 minutes.
pub fn backoff(failures: u32) -> Duration {
    let doubled = 2_u64.saturating_pow(failures.saturating_sub(1).min(16));
    Duration::from_secs(5_u64.saturating_mul(doubled).min(300))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_budget_reports_time_or_cost() {
        let budget = Budget { time: Some(Duration::from_mins(1)), cost: Some(2_500_000) };
        let spent = |secs, cost| Spending { time: Duration::from_secs(secs), cost };
        assert_eq!(budget.exceeded(spent(60, 2_500_000)), None);
        assert_eq!(budget.exceeded(spent(61, 0)).unwrap(), "it took 61s of 60s");
        assert_eq!(budget.exceeded(spent(0, 3_019_999)).unwrap(), "it cost $3.01 of $2.50");
        assert_eq!(Budget::default().exceeded(spent(u64::MAX, u64::MAX)), None);
    }

    #[test]
    fn backoff_doubles_up_to_a_limit() {
        assert_eq!([1, 2, 3, 7, 100].map(|failures| backoff(failures).as_secs()), [5, 10, 20, 300, 300]);
    }
}
