import { describeBrowser, type NotificationKind } from '@countersign/protocol'
import { didOfAgent, type Site } from '../../base/site.ts'
import type { NotificationRow } from '../../database/schema/notification-rows.ts'
import { providerLabel } from '../identity-of-owner.ts'
import { describeAccess } from './describe-access.ts'
import { describeRuleAttention, describeRuleChange } from './describe-enrolment.ts'
import { describeInvitation, describeMemberChange } from './describe-members.ts'
import { describeMissing } from './describe-missing.ts'
import { describeTransfer } from './describe-transfer.ts'
import {
  day,
  IF_NOT_YOU,
  minute,
  type NotificationText,
  selfDeclared,
} from './notification-text.ts'
import type { NotificationDetails } from './notify-owner.ts'

/** Names of agents that their owner has named, by tail, and of members, by the id of their membership. */
export type Names = ReadonlyMap<string, string>

/**
 * `agent`: the agent that it is about, as its owner named it. A label that was chosen at the claim never stands in a title.
 * `member`: the member of an organisation.
 */
type Describe = (
  details: NotificationDetails,
  site: Site,
  agent: string,
  member: string,
) => NotificationText

const TEXTS: Readonly<Record<NotificationKind, Describe>> = {
  verification_expiring: ({ provider, expiresAt }, site) => ({
    title: `Your verification by ${labelOf(provider, site)} expires on ${day(expiresAt)}`,
    text: 'Verify your identity again before then. Otherwise, your agents lose the part of their grade that depends on it.',
    link: '/dashboard/identity',
  }),
  verification_expired: ({ provider }, site) => ({
    title: `Your verification by ${labelOf(provider, site)} has expired`,
    text: 'It no longer counts for the grade of your agents. Verify your identity again to restore it.',
    link: '/dashboard/identity',
  }),
  channel_expiring: (details, site, agent) => ({
    title: `${agent}: the proof of ${channelOf(details, site)} expires on ${day(details.expiresAt)}`,
    text: `Verify this channel of your agent ${agentOf(details, site, agent)} again before then. Otherwise, it no longer counts for the agent’s grade.`,
    link: channelLink(details, site),
  }),
  channel_failing: (details, site, agent) => ({
    title: `${agent}: the proof of ${channelOf(details, site)} was not found`,
    text: `The channel of your agent ${agentOf(details, site, agent)} stays verified until at least ${minute(details.staleAt)}. Publish the proof again before then. If further checks do not find it, the channel no longer counts for the agent’s grade.`,
    link: channelLink(details, site),
  }),
  channel_lost: (details, site, agent) => ({
    title: `${agent}: ${channelOf(details, site)} no longer counts for its grade`,
    text: `The agent is ${agentOf(details, site, agent)}. Reason: ${LOST[String(details.reason)] ?? 'the channel is no longer verified'}.`,
    link: hasChannel(details) ? channelLink(details, site) : agentLink(details, site),
  }),
  agent_key_changed: (details, site, agent) => {
    const [title, text] = KEY_EVENTS[String(details.event)] ?? KEY_CHANGED
    return {
      title: `${agent}: ${title}`,
      text: `The agent is ${agentOf(details, site, agent)}.${reasonOf(details)} ${text}`,
      link: agentLink(details, site),
    }
  },
  agent_delegation_changed: (details, site, agent) => {
    const [title, text] = delegationOf(details)
    return {
      title: `${agent}: ${title}`,
      text: `The agent is ${agentOf(details, site, agent)}. ${text}`,
      link: `${agentLink(details, site)}/delegation`,
    }
  },
  agent_renounced: (details, site, agent) => ({
    title: `${agent}: certificate renounced`,
    text: `The agent is ${agentOf(details, site, agent)}. It is suspended, and is revoked on ${minute(details.finalAt)}. If the agent did not do this, its key was stolen: recover the agent with a new key before then, and report the key as stolen.`,
    link: agentLink(details, site),
  }),
  agent_suspended: (details, site, agent) =>
    describeStatus('suspended', details, site, agent, (isOne) =>
      isOne
        ? ' Its grade is E until it is active again.'
        : ' Their grade is E until they are active again.',
    ),
  agent_revoked: (details, site, agent) =>
    describeStatus(
      'revoked',
      details,
      site,
      agent,
      (isOne) =>
        ` ${isOne ? 'Its certificate' : 'Their certificates'} cannot be restored.${IF_NOT_YOU}`,
    ),
  agents_revoked: (details) => ({
    title: 'All of your agents were revoked',
    text: `Somebody who was signed in to your account revoked them.${reasonOf(details)} Their certificates cannot be restored.${IF_NOT_YOU}`,
    link: '/dashboard/agents',
  }),
  account_suspended: (details) => ({
    title: 'The operator suspended your account',
    text: `Your agents are suspended.${reasonOf(details)} Contact the operator of this service.`,
    link: '/dashboard/agents',
  }),
  new_sign_in: ({ method, browser, signedInAt }) => ({
    title: 'New sign-in to your account',
    text: `${describeBrowser(String(browser))} signed in with ${METHODS[String(method)] ?? 'another method'} on ${minute(signedInAt)}. The name of the browser is self-declared.${IF_NOT_YOU}`,
    link: '/dashboard/account/security',
  }),
  recovery_code_used: ({ browser, signedInAt }) => ({
    title: 'A recovery code was used to sign in to your account',
    text: `${describeBrowser(String(browser))} signed in on ${minute(signedInAt)}. The code cannot be used again. Add a passkey, so that you do not need another one.${IF_NOT_YOU}`,
    link: '/dashboard/account/security',
  }),
  sign_in_method_added: (details, site) => ({
    title: `${capital(methodOf(details, site))} added to your account`,
    text: `It can be used to sign in.${IF_NOT_YOU}`,
    link: '/dashboard/account/security',
  }),
  sign_in_method_removed: (details, site) => ({
    title: `${capital(methodOf(details, site))} removed from your account`,
    text: `It can no longer be used to sign in.${IF_NOT_YOU}`,
    link: '/dashboard/account/security',
  }),
  email_address_added: ({ domain }) => ({
    title: `An e-mail address at ${domain} was added to your account`,
    text: `It is verified and receives your notifications.${IF_NOT_YOU}`,
    link: '/dashboard/account/notifications',
  }),
  email_address_removed: ({ domain }) => ({
    title: `An e-mail address at ${domain} was removed from your account`,
    text: `It no longer receives notifications.${IF_NOT_YOU}`,
    link: '/dashboard/account/notifications',
  }),
  verification_removed: ({ provider }, site) => ({
    title: `Your verification by ${labelOf(provider, site)} was removed`,
    text: `It no longer counts for the grade of your agents.${IF_NOT_YOU}`,
    link: '/dashboard/identity',
  }),
  api_key_created: ({ name, scopes, expiresAt }) => ({
    title: 'An API key was created for your account',
    text: `Its name is ${selfDeclared(String(name))}. Scopes: ${String(scopes).replaceAll(' ', ', ')}. It expires on ${day(expiresAt)}. If you no longer need it, revoke it.${IF_NOT_YOU}`,
    link: '/dashboard/account/developers',
  }),
  access_changed: (details) => {
    const { title, text, link } = describeAccess(details)
    const by =
      typeof details.apiKey === 'string'
        ? 'An API key did this.'
        : 'Somebody who was signed in to your account did this.'
    return { title, text: `${text} ${by}${IF_NOT_YOU}`, link }
  },
  member_changed: (details, _site, _agent, member) => describeMemberChange(details, member),
  invitation: (details, _site, _agent, member) => describeInvitation(details, member),
  transfer: (details, _site, agent) => describeTransfer(details, agent),
  enrolment_rule_changed: describeRuleChange,
  enrolment_attention: describeRuleAttention,
  approval: (details, site, agent) =>
    details.mandate === undefined
      ? describeApproval(details, site, agent)
      : describeMandate(details, site, agent),
  report: (details, site, agent) => ({
    title: `${agent}: requests to ${details.host} were reported`,
    text: `The agent is ${agentOf(details, site, agent)}. Category: ${details.category}. A key of the agent signed the requests for ${details.host}. That proves neither abuse nor who reports it. Nothing else has changed.`,
    link: `${agentLink(details, site)}/reports`,
  }),
  webhook_disabled: ({ webhook, host, reason }) => ({
    title: `Your webhook endpoint at ${host} was disabled`,
    text: `${WEBHOOK_DISABLED[String(reason)] ?? 'Deliveries failed.'} New events are no longer delivered to it. Fix the receiver, then activate the endpoint again.`,
    link: `/dashboard/webhooks/${webhook}`,
  }),
  responsible_missing: describeMissing,
  email_undeliverable: ({ domain }) => ({
    title: `E-mail to your address at ${domain} could not be delivered`,
    text: 'The notification is listed here. Check the address, and remove it if you no longer use it.',
    link: '/dashboard/account/notifications',
  }),
}

function describeApproval(details: NotificationDetails, site: Site, agent: string) {
  return {
    title: `${agent} asks for an approval`,
    text: `The agent ${agentOf(details, site, agent)} wants to send a ${details.method} request to the site ${selfDeclared(String(details.host))}. Sign in to see the whole request before you decide. You can decide until ${minute(details.expiresAt)}.`,
    link: `/dashboard/approvals/${details.approval}`,
  }
}

function describeMandate(details: NotificationDetails, site: Site, agent: string) {
  const isUsedUp = details.percent === 100
  return {
    title: `${agent} has used ${isUsedUp ? 'the whole total' : '80 % of the total'} of a mandate`,
    text: `The agent ${agentOf(details, site, agent)} uses the mandate ${details.mandate}. ${isUsedUp ? 'It asks you again until earlier requests no longer count.' : 'Once the total is used up, it asks you again.'} If you did not expect this, end the mandate or suspend the agent.`,
    link: '/dashboard/approvals/mandates',
  }
}

/** Of one agent, or of all agents of a bulk change, of which `agent` is the first. */
function describeStatus(
  status: 'suspended' | 'revoked',
  details: NotificationDetails,
  site: Site,
  agent: string,
  effect: (isOne: boolean) => string,
): NotificationText {
  const count = Number(details.count ?? 1)
  if (count === 1) {
    return {
      title: `${agent}: ${status} by ${BY[String(details.by)] ?? 'the service'}`,
      text: `The agent is ${agentOf(details, site, agent)}.${reasonOf(details)}${effect(true)}`,
      link: agentLink(details, site),
    }
  }
  const others = count === 2 ? '1 other agent' : `${count - 1} other agents`
  const agents = agent === AN_AGENT ? `${count} agents` : `${agent} and ${others}`
  return {
    title: `${agents}: ${status} by their owner`,
    text: `${count} agents were ${status} together.${reasonOf(details)}${effect(false)}`,
    link: '/dashboard/agents',
  }
}

const KEY_CHANGED = ['key changed', 'See its key history.'] as const

/** The end of the title and the text, by the type of the event. */
const KEY_EVENTS: Readonly<Record<string, readonly [string, string]>> = {
  'agent.key_rotated': [
    'key replaced',
    'If you did not expect this, contest it within 72 hours: somebody may have used its former key.',
  ],
  'agent.key_contested': [
    'change of its key contested by you',
    `Its key history shows which key is current.${IF_NOT_YOU}`,
  ],
  'agent.key_recovery_started': [
    'key recovery started',
    `Give the recovery token to the operator of the agent. You can cancel the recovery until the new key takes effect.${IF_NOT_YOU}`,
  ],
  'agent.key_recovery_redeemed': [
    'recovery token redeemed',
    'The new key takes effect after the delay of the service. Until then, you can cancel the recovery.',
  ],
  'agent.key_recovery_vetoed': [
    'key recovery vetoed by the agent',
    'Its current key stays. If that key was stolen, start a recovery with the reason key_compromised.',
  ],
  'agent.key_recovery_cancelled': [
    'key recovery ended without a new key',
    'You can start another one.',
  ],
  'agent.key_compromised': [
    'key reported as compromised',
    'It verifies nowhere, and nobody can claim it again. If it is the current key, recover the agent with a new one.',
  ],
  'agent.key_recovered': ['recovered key took effect', 'The former key no longer works.'],
}

/** The end of the title, and the text. */
function delegationOf({ formerDepth, maxDepth, by, label }: NotificationDetails): [string, string] {
  if (label !== undefined) {
    const text = `The delegates in the group “${label}” are refused from now on. An API key did this.${IF_NOT_YOU}`
    return ['a group of delegations ended', text]
  }
  if (by === 'agent') {
    return [
      'all delegations ended by the agent itself',
      'The delegates of the agent are refused until it delegates to them again. If the agent did not do this, its key may be stolen: rotate it, or report it as stolen.',
    ]
  }
  const before = Number(formerDepth)
  const now = Number(maxDepth)
  const what = now === before ? 'all delegations ended' : (DELEGATION[now] ?? 'delegation changed')
  const effect =
    now > before
      ? 'It can let other keys send requests in its name.'
      : 'Its delegates are refused from now on.'
  return [what, `${effect} An API key did this.${IF_NOT_YOU}`]
}

/** By the depth. */
const DELEGATION = [
  'may no longer delegate',
  'may delegate up to 1 level',
  'may delegate up to 2 levels',
  'may delegate up to 3 levels',
]

const LOST: Readonly<Record<string, string>> = {
  'not-found': 'checks have not found its proof for three days',
  expired: 'its proof has expired',
  owner: 'it was removed from your account',
  'proven-by-another': 'another owner has verified it as theirs',
}

const WEBHOOK_DISABLED: Readonly<Record<string, string>> = {
  gone: 'It answered 410, which means that it wants no more deliveries.',
  failing: 'No delivery has succeeded for 5 days.',
  backlog: 'More than 100,000 deliveries were waiting for it.',
}

const BY: Readonly<Record<string, string>> = {
  owner: 'its owner',
  operator: 'the operator',
  agent: 'the agent itself',
  service: 'the service',
}

const METHODS: Readonly<Record<string, string>> = {
  passkey: 'a passkey',
  link: 'a sign-in link',
  provider: 'an account at an identity provider',
}

/** The tails of the agents that notifications are about. */
export function agentsIn(rows: readonly Pick<NotificationRow, 'details'>[]): string[] {
  const tails = rows.map(({ details }) => (JSON.parse(details) as NotificationDetails).tail)
  return [...new Set(tails.filter((tail) => typeof tail === 'string'))]
}

/** The memberships that notifications are about. */
export function membersIn(rows: readonly Pick<NotificationRow, 'details'>[]): string[] {
  const ids = rows.map(({ details }) => (JSON.parse(details) as NotificationDetails).member)
  return [...new Set(ids.filter((id) => typeof id === 'string'))]
}

/** @returns null for a kind of a newer release */
export function describeNotification(
  { kind, details: json }: Pick<NotificationRow, 'kind' | 'details'>,
  site: Site,
  names: Names,
): NotificationText | null {
  const describe = TEXTS[kind as NotificationKind] as Describe | undefined
  const details = JSON.parse(json) as NotificationDetails
  const agent = names.get(String(details.tail))
  const member = names.get(String(details.member))
  const agentName = agent === undefined ? AN_AGENT : selfDeclared(agent)
  const memberName = member === undefined ? 'A former member' : selfDeclared(member)
  return describe?.(details, site, agentName, memberName) ?? null
}

function labelOf(provider: unknown, site: Site): string {
  return providerLabel(site, String(provider))
}

const AN_AGENT = 'An agent'

function agentOf({ agentId, tail }: NotificationDetails, site: Site, agent: string): string {
  const did = didOf(tail, site)
  return agent === AN_AGENT
    ? `${selfDeclared(String(agentId))} (label chosen at the claim, ${did})`
    : `${agent} (${did})`
}

function channelOf({ channelKind, handle }: NotificationDetails, site: Site): string {
  const label = site.channelKinds.get(String(channelKind))?.label ?? 'the channel'
  return `${label} ${handle}`
}

function methodOf({ method, name, provider }: NotificationDetails, site: Site): string {
  if (method === 'recovery-codes') return 'a new set of recovery codes was'
  if (method === 'provider') return `an account at ${labelOf(provider, site)} was`
  return `the passkey ${selfDeclared(String(name))} was`
}

/** Reasons are machine-readable words (`assertReason`). */
function reasonOf({ reason }: NotificationDetails): string {
  return reason === null || reason === undefined
    ? ''
    : ` Reason: ${String(reason).replaceAll(/[_-]+/g, ' ')}.`
}

/** A channel that was removed has no page. */
function hasChannel({ reason }: NotificationDetails): boolean {
  return reason !== 'proven-by-another' && reason !== 'owner'
}

function agentLink({ tail }: NotificationDetails, site: Site): string {
  return `/dashboard/agents/${didOf(tail, site)}`
}

function channelLink(details: NotificationDetails, site: Site): string {
  return `${agentLink(details, site)}/channels/${encodeURIComponent(String(details.channelId))}`
}

function didOf(tail: unknown, site: Site): string {
  return didOfAgent(site, tail as Parameters<typeof didOfAgent>[1])
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
