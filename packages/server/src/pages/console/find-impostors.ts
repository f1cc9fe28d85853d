import { type PolicyInput, RULE_FIELDS, type Rules } from '@countersign/gateway/internal'
import { didOf, parseDidOrTail } from '@countersign/protocol'
import { buildRequest } from './build-request.ts'
import type { EnteredPolicy } from './entered-policy.ts'
import type { ConsoleReadDeps } from './read-model-registry.ts'
import { SAMPLE_TAILS, SAMPLES, sampleAgent } from './sample-agents.ts'
import { decideOn } from './simulated-gate.ts'

/** Whether a policy admits callers that name an agent without proof: always, or only while the service is unreachable. */
export type Impostors = 'always' | 'while-unreachable' | 'never'

/** The gateway decides on such callers by the rules of the policy and of each route, also of routes that no request reaches. */
export async function findImpostors(
  read: ConsoleReadDeps,
  entered: EnteredPolicy,
): Promise<Impostors> {
  const { policy } = entered
  const all = [policy, ...policy.routes].map((rules) => withRules(entered, rules))
  for (const isAway of [false, true]) {
    for (const each of all) {
      if (await admitsImpostor(read, each, isAway)) return isAway ? 'while-unreachable' : 'always'
    }
  }
  return 'never'
}

/** The policy with these rules for every request, without the rate limit, and with one agent of the allow list. */
function withRules(entered: EnteredPolicy, rules: Rules): EnteredPolicy {
  const names = Object.keys(RULE_FIELDS) as (keyof Rules)[]
  const changes: PolicyInput = {
    ...Object.fromEntries(names.map((name) => [name, rules[name]])),
    allow: rules.allow.filter((did) => !rules.deny.includes(did)).slice(0, 1),
    deny: [],
    limit: { requests: 1_000_000, seconds: 86_400 },
    routes: [],
  }
  return {
    ...entered,
    input: { ...entered.input, ...changes },
    policy: { ...entered.policy, ...rules, allow: changes.allow ?? [], routes: [] },
  }
}

async function admitsImpostor(
  read: ConsoleReadDeps,
  entered: EnteredPolicy,
  isAway: boolean,
): Promise<boolean> {
  const { naming } = read.site
  const [audience] = entered.audiences
  const request = { method: 'GET', url: `${audience}/`, headers: [], audience }
  for (const sample of SAMPLES) {
    for (const did of [didOf(naming, SAMPLE_TAILS[sample]), ...entered.policy.allow]) {
      const tail = parseDidOrTail(naming, did) ?? SAMPLE_TAILS[sample]
      const built = await buildRequest(read.site, request, { kind: 'header', did })
      const { decision } = await decideOn(read, entered, built, {
        sampleOf: (_, rules) => sampleAgent(sample, tail, rules, read.now()),
        isAway,
        isReplay: false,
      })
      if (decision.admitted && decision.did !== null && !decision.proofOfPossession) return true
    }
  }
  return false
}
