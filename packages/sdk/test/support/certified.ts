import { judgeFor } from '../../../../test/support/openapi.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import type { TestService } from '../../../../test/support/service.ts'
import { Agent } from '../../src/agent.ts'
import { newKey } from '../../src/keys/keys.ts'
import type { NewKey } from '../../src/keys/signer.ts'
import type { RegistryOptions } from '../../src/options.ts'
import { Registry } from '../../src/registry.ts'

/** A Registry of a service of a test, whose every answer is held against the service's own /openapi.json. */
export function registryOf(service: TestService, options: RegistryOptions = {}): Registry {
  return new Registry(service.url, {
    ...PATIENT_CLIENT,
    ...options,
    fetch: conformingFetch(service),
  })
}

function conformingFetch(service: TestService): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const openApi = await judgeFor(service.env, service.url)
    const { pathname, search } = new URL(String(input))
    const { status, headers } = response
    const text = await response.clone().text()
    openApi.assertConforms(init?.method ?? 'GET', pathname + search, { status, headers, text })
    return response
  }
}

/** An agent with a certificate. */
export interface CertifiedAgent {
  readonly agent: Agent
  readonly key: NewKey
  readonly did: string
  readonly ownerId: number
}

export async function certifiedAgent(
  service: TestService,
  registry: Registry = registryOf(service),
  ownerId?: number,
): Promise<CertifiedAgent> {
  const owner = ownerId ?? (await service.operator.addVerifiedOwner())
  const key = await newKey()
  const agent = new Agent({ registry, signer: key, audiences: [service.url] })
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  return { agent, key, did, ownerId: owner }
}
