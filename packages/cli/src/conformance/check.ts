import type { Naming } from '@countersign/protocol'
import type { Signer } from '@countersign/sdk'
import type { Client } from './client.ts'
import { Mismatch, Skip } from './expect.ts'

/** An agent of the deployment. */
export interface KnownAgent {
  readonly did: string
  /** Null: the kit does not have its key. */
  readonly signer: Signer | null
}

/** What the checks work with. */
export interface Kit {
  readonly client: Client
  readonly naming: Naming
  /** What the deployment says of itself in `/openapi.json`; undefined if it has none. */
  readonly openapi: unknown
  /** Those that were named, and those that were claimed. */
  readonly agents: KnownAgent[]
  /** Unused claim tokens, all of one owner. A check takes those that it uses. */
  readonly claimTokens: string[]
  readonly expiredToken: string | null
}

/** Examines one case of a check. A case that fails does not end the check. */
export type Examine = (name: string, examined: () => Promise<void>) => Promise<void>

/** A promise of the contract that shows over HTTP. */
export interface Check {
  /** Of the contract, such as `4.1`. */
  readonly section: string
  /** What is promised, as a sentence without its full stop. */
  readonly title: string
  /** @throws Skip if it cannot be made */
  run(kit: Kit, examine: Examine): Promise<void>
}

/** A case that failed. */
export interface CaseFailure {
  readonly case: string
  readonly where: string
  readonly expected: string
  readonly actual: string
}

/** The result of a check. */
export interface CheckResult {
  readonly section: string
  readonly check: string
  readonly outcome: 'pass' | 'fail' | 'skip'
  /** How many cases were examined. */
  readonly cases: number
  readonly failures: readonly CaseFailure[]
  /** Why it was skipped, or null. */
  readonly reason: string | null
}

/** Runs one check. */
export async function runCheck(check: Check, kit: Kit): Promise<CheckResult> {
  const failures: CaseFailure[] = []
  let cases = 0
  const examine: Examine = async (name, examined) => {
    cases++
    try {
      await examined()
    } catch (error) {
      if (error instanceof Skip) throw error
      failures.push(failureOf(name, error as Error))
    }
  }
  let reason: string | null = null
  try {
    await check.run(kit, examine)
  } catch (error) {
    if (error instanceof Skip) reason = error.message
    else failures.push(failureOf('', error as Error))
  }
  const outcome = failures.length > 0 ? 'fail' : reason === null ? 'pass' : 'skip'
  const { section, title } = check
  return { section, check: title, outcome, cases, failures, reason }
}

function failureOf(name: string, error: Error): CaseFailure {
  if (!(error instanceof Mismatch)) throw error
  const { where, expected, actual } = error
  return { case: name, where, expected, actual }
}

/** The path parameter that names an agent. */
export function segment(reference: string): string {
  return encodeURIComponent(reference)
}

/** A check of each known agent. */
export function ofEachAgent(
  section: string,
  title: string,
  examined: (kit: Kit, agent: KnownAgent) => Promise<void>,
): Check {
  return {
    section,
    title,
    async run(kit, examine) {
      if (kit.agents.length === 0) {
        throw new Skip('no agent is known: pass --agent <did> or --claim-token <token>')
      }
      for (const agent of kit.agents) await examine(agent.did, () => examined(kit, agent))
    },
  }
}

/** A check that needs the keys of agents: those that the kit has claimed. */
export function ofOwnAgents(
  section: string,
  title: string,
  examined: (kit: Kit, agent: KnownAgent & { readonly signer: Signer }) => Promise<void>,
): Check {
  return {
    section,
    title,
    async run(kit, examine) {
      const own = kit.agents.filter((each) => each.signer !== null)
      if (own.length === 0) throw new Skip('needs the key of an agent: pass --claim-token <token>')
      for (const { did, signer } of own) {
        await examine(did, () => examined(kit, { did, signer: signer as Signer }))
      }
    },
  }
}
