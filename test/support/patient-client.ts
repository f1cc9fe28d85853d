/** Options of a `Registry` for tests that do not test its time limits: machines that run tests may be busy. */
export const PATIENT_CLIENT = { attemptTimeoutMs: 60_000, timeoutMs: 120_000 } as const
