//! Formats the tokens and the cost of a conversation.

use paw_view::AgentUsage;

/// The tokens and the cost, as far as they are known: `251k $1.20`.
pub(super) fn short(usage: &AgentUsage) -> String {
    let count = usage.context_tokens.or(usage.total_tokens).map(tokens);
    let parts = [count, usage.cost_usd_micros.map(dollars)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// `251k tokens of context, 900k in all, $1.20`
pub(super) fn long(usage: &AgentUsage) -> String {
    let parts = [
        usage.context_tokens.map(|count| format!("{} tokens of context", tokens(count))),
        usage.total_tokens.map(|count| format!("{} tokens in all", tokens(count))),
        usage.cost_usd_micros.map(dollars),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

fn dollars(micros: u64) -> String {
    let cents = micros.div_ceil(10_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_short_and_a_cost_is_never_rounded_to_nothing() {
        let usage = |context_tokens, cost_usd_micros| AgentUsage {
            context_tokens,
            cost_usd_micros,
            total_tokens: None,
        };
        assert_eq!(short(&usage(Some(251_100), None)), "251k");
        assert_eq!(short(&usage(Some(1_250_000), None)), "1.2M");
        assert_eq!(short(&usage(Some(900), Some(1))), "900 $0.01");
        assert_eq!(short(&usage(None, Some(1_200_000))), "$1.20");
        assert_eq!(long(&usage(Some(900), Some(12_345_678))), "900 tokens of context, $12.35");
        assert_eq!(short(&AgentUsage::default()), "");
    }
}
