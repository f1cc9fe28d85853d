import { decide, strictest } from '../../packages/gateway/src/decision/decide.ts'
import { outcomeOf } from '../../packages/gateway/src/decision/outcome.ts'
import { denialFor } from '../../packages/gateway/src/denial.ts'
import { PolicyError } from '../../packages/gateway/src/policy/policy-error.ts'
import { readPolicy } from '../../packages/gateway/src/policy/read-policy.ts'
import { RouteMatcher } from '../../packages/gateway/src/policy/route-matcher.ts'
import { varyHeader } from '../../packages/gateway/src/request/headers.ts'
import { type DecisionCase, type MistakeCase, namingOf } from './policy-cases.ts'

/** What the gateway in TypeScript decides on a case, with its response, for comparing other implementations. */
export function decidedHere({ policy: input, ...each }: DecisionCase) {
  const naming = namingOf(each)
  const policy = readPolicy(input, naming)
  const routes = new RouteMatcher(policy)
  const rules = routes.rulesAt(routes.find(each.method, each.target))
  const verdict = strictest(
    rules.map((one) => decide(one, naming.idHeader, each.caller, each.result)),
  )
  const answered = each.result?.kind === 'answered'
  const basis = {
    issuer: 'https://id.example',
    source: answered ? ('service' as const) : null,
    statusAgeSeconds: answered ? 0 : null,
  }
  const { decision, forwarded } = outcomeOf({ naming, policy }, each.caller, verdict, basis)
  const { signature: _, ...comparable } = decision
  const accepts = { sessions: each.sessions, signatures: true }
  const signInUrl = each.sessions ? each.signInPath : null
  const vary = varyHeader(naming, accepts)
  const context = { naming, accepts, signInUrl, vary, challenge: () => null }
  const accept = each.headers.find(([name]) => name === 'Accept')?.[1] ?? null
  const denial = decision.admitted
    ? null
    : denialFor(decision, context, accept, () => ({
        method: each.method,
        target: each.target,
        headers: each.headers,
        scheme: 'https' as const,
        authority: 'shop.example',
      }))
  return {
    rules: rules.map((one) => routes.all.indexOf(one)),
    decision: comparable,
    forwarded: forwarded.map(([name, value]) => [name, value]).toSorted(),
    denial: denial && { status: denial.status, headers: denial.headers, body: denial.body },
  }
}

/** The mistakes that the gateway in TypeScript finds in a policy. */
export function mistakesHere({ policy, ...names }: MistakeCase): readonly string[] {
  try {
    readPolicy(policy, namingOf(names))
    return []
  } catch (error) {
    if (error instanceof PolicyError) return error.mistakes
    throw error
  }
}

/** Refusals have a random id, and a site that has just started a nonce. */
export function withoutRequestId(json: string): string {
  return json.replace(/req_[0-9a-f]{32}/, 'req_').replace(/;nonce=\\"[\w-]+\\"/, '')
}
