import type { Answer } from './answer.ts'
import { ask } from './ask.ts'
import type { TestKey } from './key.ts'
import type { TestService } from './service.ts'
import { signedHeaders } from './sign-request.ts'

/** A client that signs as an agent. */
interface Signing {
  readonly did: string
  readonly key: TestKey
}

/** Creates a group of delegations by a signed request. */
export function createGroup(
  service: TestService,
  agent: Signing,
  label: unknown,
  now = Date.now,
): Promise<Answer> {
  return sendSigned(service, agent, `/api/v1/agent/${agent.did}/delegations`, { label }, now)
}

/** Ends a group by a signed request. */
export function endGroup(
  service: TestService,
  agent: Signing,
  id: string,
  now = Date.now,
): Promise<Answer> {
  return sendSigned(service, agent, `/api/v1/agent/${agent.did}/delegations/${id}/end`, {}, now)
}

async function sendSigned(
  service: TestService,
  { did, key }: Signing,
  path: string,
  content: object,
  now: () => number,
): Promise<Answer> {
  const body = JSON.stringify(content)
  const headers = await signedHeaders(service, did, key, {
    method: 'POST',
    url: service.url + path,
    headers: [['Content-Type', 'application/json']],
    body,
    createdAt: now(),
  })
  const sent = headers.filter(([name]) => name !== 'Host')
  return ask(service, path, { method: 'POST', headers: Object.fromEntries(sent), body })
}
