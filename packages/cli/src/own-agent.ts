import { encodeBase64 } from '@countersign/protocol'
import { Agent, type AgentOptions, type AgentStatus, type AudienceOptions } from '@countersign/sdk'
import { ownCertificate } from '@countersign/sdk/tool-support'
import type { Invocation } from './invocation.ts'

/** The agent of the key file, and its certificate. */
export interface OwnAgent {
  readonly agent: Agent
  readonly did: string
  readonly status: AgentStatus
}

/**
 * The agent of the key file, ready to sign requests to the audiences. Asks the service for its DID and for the names of the
 * deployment.
 * @param options whether its requests carry its certificate, and how long it waits for a site
 * @throws Failure NO_KEY; NOT_FOUND if the key has no certificate; CountersignError
 */
export async function ownAgent(
  cli: Invocation,
  audiences: readonly (string | AudienceOptions)[],
  options: Pick<AgentOptions, 'certificates' | 'maxRetryAfterMs'> = {},
): Promise<OwnAgent> {
  const signer = await cli.ownKey()
  const [{ certificate }, registry] = await Promise.all([
    ownCertificate(cli.registry(), encodeBase64(signer.publicKey), cli.command),
    cli.registryWithNames(),
  ])
  const { id: did, status } = certificate
  return { agent: new Agent({ registry, signer, did, audiences, ...options }), did, status }
}
