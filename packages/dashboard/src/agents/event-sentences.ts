import { type AgentHistory, describeBrowser } from '@countersign/protocol'
import { byOwner, organisation } from '../api/acting-for.ts'
import { levels } from './levels.ts'
import { reasonText } from './reasons.ts'

type Event = Pick<AgentHistory['events'][number], 'type' | 'facts'> & {
  /** The display name of the identity provider. Only in the activity of the account. */
  readonly providerLabel?: string | null
}
type Payload = Event['facts']

const YOU = organisation === null ? 'You' : 'A member'
const YOUR = organisation === null ? 'Your' : 'The organisation’s'

/** The display name of a channel kind. */
type LabelOf = (kind: string) => string

const SENTENCES: Readonly<
  Record<string, (payload: Payload, labelOf: LabelOf) => string | string[]>
> = {
  'agent.claimed': () => 'Claimed. The certificate was issued.',
  'agent.updated': updated,
  'agent.suspended': (payload) => `Suspended.${reasonClause(payload)}`,
  'agent.reactivated': (payload) => `Reactivated.${reasonClause(payload)}`,
  'agent.revoked': revoked,
  'agent.renounced': () =>
    'The agent renounced its certificate: it is revoked after 72 hours, unless you recover it or report the key.',
  'agent.released': () => 'Given to another owner.',
  'agent.owner_changed': () => 'Taken over from another owner.',
  'agent.grade_changed': gradeChanged,
  'agent.delegation_changed': delegationChanged,
  'agent.delegation_created': () => 'The agent created a group of delegations.',
  'agent.delegation_ended': ({ by }) =>
    `${by === 'agent' ? 'The agent' : YOU} ended a group of delegations.`,
  'agent.key_compromised': () => 'The key was reported as compromised. Nobody can claim it again.',
  'agent.key_rotated': () => 'The agent replaced its key. You can contest this for 72 hours.',
  'agent.key_contested': (payload) =>
    payload.reason === 'mistake'
      ? `${YOU} contested a rotation as a mistake: an earlier key is the current one again.`
      : `${YOU} contested a rotation: the keys were burned.`,
  'agent.key_recovery_started': (payload) =>
    payload.reason === 'key_lost'
      ? `${YOU} started to recover the key, which is lost.`
      : `${YOU} started to recover the key, which was reported as compromised.`,
  'agent.key_recovery_redeemed': () =>
    'The agent redeemed the recovery token. Its new key takes effect after the delay.',
  'agent.key_recovery_vetoed': () => 'The agent vetoed the recovery: its key stays.',
  'agent.key_recovery_cancelled': (payload) =>
    `The recovery ended${CANCELLED[String(payload.reason)] ?? ''}.`,
  'agent.key_recovered': () => 'The recovery took effect: the agent has a new key.',
  'agent.approval_requested': () => 'The agent asked for an approval.',
  'agent.approval_decided': () => 'An approval was given or denied.',
  'agent.directory_proven': () => 'The agent signed its published key set.',
  'channel.verified': (payload, labelOf) => `${channel(payload, labelOf)} was verified.`,
  'channel.stale': (payload, labelOf) =>
    `${channel(payload, labelOf)} is no longer verified: ${STALE[String(payload.reason)] ?? 'it was not confirmed in time'}.`,
  'channel.removed': (payload, labelOf) =>
    `${channel(payload, labelOf)} was removed${REMOVED[String(payload.reason)] ?? ''}.`,
  'owner.identity_verified': ({ provider }) => `Identity verified${by(provider)}.`,
  'owner.identity_expired': ({ provider, reason }) =>
    `Identity verification${by(provider)} ${reason === 'removed' ? 'removed' : 'expired'}.`,
  'owner.updated': ownerUpdated,
  'owner.suspended': (payload) => `Account suspended by the operator.${reasonClause(payload)}`,
  'owner.reactivated': () => 'Account reactivated by the operator.',
  'owner.signed_up': (payload) => `Account created${withMethod(payload)}${fromBrowser(payload)}.`,
  'owner.signed_in': (payload) => `Signed in${withMethod(payload)}${fromBrowser(payload)}.`,
  'owner.sign_in_confirmed': (payload) =>
    `Sign-in confirmed${withMethod(payload)}${fromBrowser(payload)}.`,
  'owner.sessions_ended': ({ count }) =>
    count === 1 ? 'A session was ended.' : `${count} other sessions were ended.`,
  'owner.sign_in_method_added': (payload) =>
    payload.method === 'recovery-codes'
      ? 'New recovery codes were created. The old ones no longer work.'
      : `${signInMethod(payload)} added.`,
  'owner.sign_in_method_removed': (payload) => `${signInMethod(payload)} removed.`,
  'owner.joined': ({ organisation, role }) =>
    `You became a member of the organisation @${organisation}, with the role ${role}.`,
  'owner.left': ({ organisation, reason }) =>
    `You are no longer a member of the organisation @${organisation}${LEFT[String(reason)] ?? ''}.`,
  'owner.webhook_created': (payload) =>
    `Webhook endpoint at ${payload.host} added${byKey(payload)}.`,
  'owner.webhook_changed': (payload) =>
    `Webhook endpoint moved to ${payload.host}${byKey(payload)}.`,
  'owner.domain_set': ({ domain }) => `The domain ${domain} was set for the organisation.`,
  'owner.sso_connected': ({ host }) =>
    `Identity provider at ${host} connected, or its settings changed.`,
  'owner.grant_issuer_created': (payload) =>
    `Grant issuer “${payload.name}” created${byKey(payload)}.`,
  'owner.grant_issuer_deleted': ({ name }) => `Grant issuer “${name}” deleted.`,
  'owner.grant_issuer_assigned': ({ agent }) => `${agent} was assigned to a grant issuer.`,
  'owner.grant_issuer_unassigned': ({ agent }) => `${agent} gets no more grants.`,
  'owner.approvals_turned_on': ({ agent }) => `${agent} may ask for approvals.`,
  'owner.approvals_turned_off': ({ agent }) => `${agent} may no longer ask for approvals.`,
  'owner.mandate_created': ({ agent }) => `A standing mandate for ${agent} was created.`,
  'owner.mandate_ended': ({ agent }) => `A standing mandate of ${agent} was ended.`,
  'owner.enrolment_rule_created': ({ name }) => `Enrolment rule “${name}” created.`,
  'owner.enrolment_rule_changed': (payload) =>
    `Enrolment rule “${payload.name}” ${payload.state === 'paused' ? 'paused' : 'changed'}${byKey(payload)}.`,
  'owner.enrolment_rule_deleted': ({ name }) => `Enrolment rule “${name}” deleted.`,
  'owner.scim_token_created': () => 'SCIM token created.',
  'owner.scim_token_ended': () => 'SCIM token ended.',
  'owner.report_received': ({ agent, host }) => `Requests of ${agent} to ${host} were reported.`,
  'owner.grant_first_issued': ({ agent, audience }) =>
    `${agent} got its first grant for the authorization server ${audience}.`,
  'owner.api_key_created': (payload) => `API key created.${scopesClause(payload)}`,
  'owner.api_key_revoked': (payload) => `API key revoked.${scopesClause(payload)}`,
}

function byKey({ apiKey }: Payload): string {
  return typeof apiKey === 'string' ? ' with an API key' : ''
}

function by(provider: unknown): string {
  return typeof provider === 'string' ? ` by ${provider}` : ''
}

const METHODS: Readonly<Record<string, string>> = {
  passkey: 'a passkey',
  link: 'a sign-in link',
  'recovery-code': 'a recovery code',
}

function withMethod({ method, provider }: Payload): string {
  if (typeof provider === 'string') return ` with ${provider}`
  const name = METHODS[String(method)]
  return name === undefined ? '' : ` with ${name}`
}

/** The browser names itself. */
function fromBrowser({ browser }: Payload): string {
  return typeof browser === 'string' && browser !== '' ? ` (${describeBrowser(browser)})` : ''
}

function signInMethod({ method, name, provider }: Payload): string {
  if (method === 'passkey') return typeof name === 'string' ? `Passkey “${name}”` : 'A passkey'
  return typeof provider === 'string' ? `Sign-in with ${provider}` : 'A sign-in method'
}

function ownerUpdated({ username, displayName, verifiedName }: Payload): string[] {
  const sentences: string[] = []
  if (typeof displayName === 'string') sentences.push(`${YOUR} name is now “${displayName}”.`)
  if (typeof username === 'string') sentences.push(`${YOUR} username is now @${username}.`)
  if (verifiedName !== undefined) {
    sentences.push(
      verifiedName === null ? 'Verified name no longer published.' : 'Verified name published.',
    )
  }
  return sentences.length > 0 ? sentences : ['The account was changed.']
}

const STALE: Readonly<Record<string, string>> = {
  'not-found': 'the proof was missing for three days',
  expired: 'it expired',
  'key-replaced': 'the key that proved it was replaced',
  'key-compromised': 'the key was reported as compromised',
}

const REMOVED: Readonly<Record<string, string>> = {
  owner: ` by ${byOwner}`,
  'proven-by-another': ': another owner verified it',
  'owner-changed': ': the agent moved to another owner',
}

const LEFT: Readonly<Record<string, string>> = {
  removed: ': an admin removed you',
  left: ': you left',
  scim: ': its directory deactivated you',
  no_group: ': none of your groups has a role',
  operator: ': the operator removed you',
}

const CANCELLED: Readonly<Record<string, string>> = {
  owner: `: ${byOwner} cancelled it`,
  rotated: ': the agent replaced its key itself',
  contested: `: ${byOwner} contested a rotation`,
  revoked: ': the certificate was revoked',
  key_compromised: ': its new key was reported as compromised',
  member_left: ': the member who started it left the organisation',
  key_taken: ': its new key was claimed by another agent meanwhile',
}

/**
 * Describes an event to the owner.
 * @returns one sentence per change
 */
export function eventSentences(
  { type, facts: recorded, providerLabel }: Event,
  labelOf: LabelOf,
): readonly string[] {
  const payload = providerLabel ? { ...recorded, provider: providerLabel } : recorded
  return [SENTENCES[type]?.(payload, labelOf) ?? `Event: ${type}.`].flat()
}

const PARTS = [
  ['displayName', 'The name', (value: string) => `“${value}”`],
  ['username', 'The username', (value: string) => `@${value}`],
  ['description', 'The description', (value: string) => `“${value}”`],
] as const

function updated(payload: Payload): string[] {
  const sentences = PARTS.flatMap(([key, what, show]) => {
    const value = payload[key]
    if (value === null) return [`${what} was removed.`]
    return typeof value === 'string' ? [`${what} is now ${show(value)}`] : []
  })
  if (payload.avatar === null) sentences.push('The picture was removed.')
  else if (payload.avatar !== undefined) sentences.push('The picture was changed.')
  return sentences.length > 0 ? sentences : ['The public profile was changed.']
}

function revoked(payload: Payload): string {
  return `Revoked.${reasonClause(payload)}`
}

function reasonClause({ reason }: Payload): string {
  return typeof reason === 'string' ? ` Reason: ${reasonText(reason)}.` : ''
}

function scopesClause({ scopes }: Payload): string {
  return Array.isArray(scopes) ? ` Scopes: ${scopes.join(', ')}.` : ''
}

function gradeChanged({ from, to }: Payload): string {
  if (typeof from === 'string' && typeof to === 'string') {
    return `The grade changed from ${from} to ${to}.`
  }
  return 'The grade changed.'
}

function delegationChanged({ maxDepth, ended, by }: Payload): string {
  const depth = typeof maxDepth === 'number' ? maxDepth : 0
  const allowed =
    depth === 0 ? 'The agent may not delegate.' : `The agent may delegate up to ${levels(depth)}.`
  if (ended !== true) return allowed
  return by === 'agent'
    ? 'The agent ended all its delegations.'
    : `${YOU} ended all delegations. ${allowed}`
}

function channel({ kind, handleOrDomain }: Payload, labelOf: LabelOf): string {
  const label = typeof kind === 'string' ? labelOf(kind) : 'A channel'
  return typeof handleOrDomain === 'string' ? `${label} ${handleOrDomain}` : label
}
