import type { Rules } from '../policy/policy.ts'
import { type Caller, decide, failureVerdict, type LookupResult, strictest } from './decide.ts'
import type { Basis } from './decision.ts'
import { type Outcome, type OutcomeContext, outcomeOf } from './outcome.ts'

/** The outcome by the strictest of the rules that may apply, at least one. @param basis what is known of the agent */
export function evaluate(
  context: OutcomeContext,
  rules: readonly Rules[],
  caller: Caller,
  result: LookupResult | null,
  basis: Basis | null,
): Outcome {
  const known =
    result?.kind === 'answered' || basis === null
      ? basis
      : { ...basis, source: null, statusAgeSeconds: null }
  const verdicts = rules.map((each) => decide(each, context.naming.idHeader, caller, result))
  return outcomeOf(context, caller, strictest(verdicts), known)
}

/** The outcome if the gateway itself fails. @param isDelegated the request has a chain of delegations, which nothing replaces */
export function failureOutcome(
  context: OutcomeContext,
  rules: readonly Rules[],
  isDelegated: boolean,
): Outcome {
  const verdicts = rules.map((each) =>
    failureVerdict(isDelegated ? { unreachable: 'deny', approval: null } : each),
  )
  return outcomeOf(context, { kind: 'none' }, strictest(verdicts), null)
}
