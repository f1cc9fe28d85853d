import { unverifyOwner } from '../../packages/server/src/accounts/identity/record-verification.ts'
import { claimAgent, type TestService } from './service.ts'
import { setStatus } from './set-status.ts'
import { until } from './until.ts'

/** One agent of each kind that a gateway policy distinguishes. */
export interface Agents {
  readonly verified: string
  readonly unverified: string
  readonly suspended: string
  readonly revoked: string
  /** Well-formed, but never issued. */
  readonly unknown: string
}

export async function claimAgents(service: TestService): Promise<Agents> {
  const claim = async () => claimAgent(service, await service.operator.addVerifiedOwner())
  const [verified, suspended, revoked] = [await claim(), await claim(), await claim()]
  await setStatus(service, suspended, 'suspended')
  await setStatus(service, revoked, 'revoked')
  const unverified = await claimUnverified(service)
  const unknown = `${service.settings.naming.didPrefix}${'z'.repeat(24)}`
  return { verified, unverified, suspended, revoked, unknown }
}

/** Claims an agent whose owner was verified at the claim and is no longer. */
async function claimUnverified(service: TestService): Promise<string> {
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  await unverify(service, owner, did)
  return did
}

/** Ends the verification of an owner, and waits until lookups of the agent show it. */
export async function unverify(service: TestService, owner: number, did: string): Promise<void> {
  const { db } = service.operator
  await unverifyOwner({ db, now: Date.now }, owner, 'in-person')
  await until(async () => {
    const response = await fetch(`${service.url}/api/v1/agent/${did}`)
    const { owner: shown } = (await response.json()) as { owner: { identityMethod: unknown } }
    return shown.identityMethod === null
  })
}
