//! The UID of one run of the program.

/// A UID that no other run has, as Kubernetes writes UIDs; `None` where the machine has no random numbers,
/// without which nothing can be told apart by it.
pub fn run_uid() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let parts = [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ];
    Some(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_another_uid() {
        let (one, two) = (run_uid().unwrap(), run_uid().unwrap());
        assert_ne!(one, two);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
    }
}
