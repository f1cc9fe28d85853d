import type { ApiKeyScope } from '@countersign/protocol'
import type { TestService } from './service.ts'
import type { SignedInOwner } from './signed-in.ts'

/** An operation of /openapi.json. */
export interface PublishedOperation {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly { readonly $ref?: string; readonly name?: string }[]
  readonly security: readonly Record<string, readonly string[]>[]
  readonly requestBody?: { readonly content: Record<string, { readonly example?: unknown }> }
}

export interface OwnerOperation {
  readonly path: string
  readonly method: string
  readonly operation: PublishedOperation
}

/** The operations with the tag `owner`, from /openapi.json. */
export async function allOwnerOperations(service: TestService): Promise<OwnerOperation[]> {
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, PublishedOperation>>
  }
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags = [] }]) => tags.includes('owner'))
      .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
}

/** Those of them that need an owner. */
export async function ownerOperations(service: TestService): Promise<OwnerOperation[]> {
  return (await allOwnerOperations(service)).filter(({ operation }) =>
    operation.security.some((each) => 'session' in each),
  )
}

/**
 * Sends an operation with the body of its example, about nothing that exists: a request that is admitted changes nothing.
 * @param headers who asks
 * @param query added to the address
 */
export async function sendOperation(
  service: TestService,
  { path, method, operation }: OwnerOperation,
  headers: Readonly<Record<string, string>>,
  query = '',
): Promise<{ readonly status: number; readonly text: string }> {
  const target = path.replace('{agent}', '1'.repeat(24)).replaceAll(/\{\w+\}/g, 'x')
  const [[type, media] = []] = Object.entries(operation.requestBody?.content ?? {})
  const response = await fetch(service.url + target + query, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(type && { 'content-type': type }) },
    ...(type && { body: JSON.stringify(media?.example ?? {}) }),
  })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return { status: response.status, text: '' }
  }
  return { status: response.status, text: await response.text() }
}

/** The headers of a signed-in owner's browser. */
export function headersOf(
  service: TestService,
  { cookie }: Pick<SignedInOwner, 'cookie'>,
): Record<string, string> {
  return { cookie, origin: service.settings.baseUrl.origin }
}

/** What each scope admits. A route that keys may use has to be added here. */
export const OPERATIONS_OF_SCOPES: Readonly<Record<ApiKeyScope, readonly string[]>> = {
  'agents:read': [
    'ownerAgents',
    'ownerAgent',
    'agentHistory',
    'agentLogOpenings',
    'activity',
    'listChannelKinds',
    'listChannels',
    'ownDelegationGroups',
  ],
  'events:read': ['accountEvents'],
  'agents:write': ['editAgent', 'setAvatar', 'removeAvatar', 'allowDelegation'],
  'agents:status': [
    'suspendAgent',
    'reactivateAgent',
    'endOwnDelegations',
    'endOwnDelegationGroup',
    'pauseEnrolmentRule',
  ],
  'agents:revoke': ['revokeAgent', 'reportOwnKey', 'endEnrolmentRule'],
  'claim_tokens:create': ['issueToken', 'issueTokens'],
  'channels:write': [
    'addChannel',
    'checkChannel',
    'renewChannel',
    'removeChannel',
    'signAgentCard',
  ],
  'webhooks:read': ['listWebhooks', 'listWebhookDeliveries'],
  'webhooks:write': [
    'createWebhook',
    'changeWebhook',
    'deleteWebhook',
    'rotateWebhookSecret',
    'testWebhook',
    'redeliverWebhook',
  ],
  'enrolment:read': ['listEnrolmentRules', 'enrolmentRule'],
  'grants:read': ['listGrantIssuers', 'agentGrants'],
  'grants:write': ['createGrantIssuer', 'deleteGrantIssuer', 'assignGrantIssuer'],
}
