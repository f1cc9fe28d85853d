import { day, minute, type NotificationText, selfDeclared } from './notification-text.ts'
import type { NotificationDetails } from './notify-owner.ts'

/** @param member the display name of who invites, quoted */
export function describeInvitation(details: NotificationDetails, member: string): NotificationText {
  return {
    title: 'Invitation to an organisation',
    text: `${member} invites you to the organisation ${organisationOf(details)}, with the role ${details.role}. Anybody can choose such a name: accept only an invitation that you expect. It is open until ${day(details.expiresAt)}.`,
    link: '/dashboard/invitations',
  }
}

/**
 * A change of the members of an organisation, for the organisation itself, or, if the details name the organisation, for the
 * member.
 * @param member their display name, quoted
 */
export function describeMemberChange(
  details: NotificationDetails,
  member: string,
): NotificationText {
  return typeof details.organisation === 'string'
    ? describeForMember(details)
    : describeForOrganisation(details, member)
}

const UNEXPECTED = ' If you did not expect this, see who acted under Members.'

function describeForOrganisation(details: NotificationDetails, member: string): NotificationText {
  const { change, role, formerRole, effectiveAt, username } = details
  const link = '/dashboard/members'
  switch (change) {
    case 'joined':
      return {
        title: 'A member joined your organisation',
        text: `${member} has the role ${role}.${UNEXPECTED}`,
        link,
      }
    case 'role':
      return {
        title: 'A member of your organisation has another role',
        text: `${member} has the role ${role}, and had the role ${formerRole}.${UNEXPECTED}`,
        link,
      }
    case 'admin_announced':
      return {
        title: 'The operator will add an admin to your organisation',
        text: `@${username} becomes an admin on ${minute(effectiveAt)}. ${ASK_OPERATOR}`,
        link,
      }
    default:
      return {
        title: 'A member left your organisation',
        text: `${member} ${LEFT[String(change)] ?? 'is no longer a member'}. What let them act for the organisation has ended.${toReview(details)}${UNEXPECTED}`,
        link,
      }
  }
}

const LIST = new Intl.ListFormat('en-GB')

/** What a former member created, and what goes on. */
function toReview(details: NotificationDetails): string {
  const { webhooks, grantIssuers, enrolmentRules } = details
  const created = [
    counted(webhooks, 'webhook'),
    counted(grantIssuers, 'grant issuer'),
    counted(enrolmentRules, 'enrolment rule'),
  ].filter((each) => each !== null)
  if (created.length === 0) return ''
  return ` Review what they created and what still works: ${LIST.format(created)}.`
}

function counted(count: NotificationDetails[string] | undefined, noun: string): string | null {
  if (typeof count !== 'number' || count === 0) return null
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** Contradicts an operator who was deceived. */
const ASK_OPERATOR =
  'If your organisation has not asked for this, contact the operator of this service before then.'

function describeForMember(details: NotificationDetails): NotificationText {
  const { change, role, formerRole, effectiveAt, username } = details
  const organisation = organisationOf(details)
  switch (change) {
    case 'role':
      return {
        title: 'You have another role in an organisation',
        text: `In the organisation ${organisation} you have the role ${role}, and had the role ${formerRole}.`,
        link: null,
      }
    case 'admin_added':
      return {
        title: 'You are an admin of an organisation',
        text: `The operator of this service made you an admin of the organisation ${organisation}.`,
        link: null,
      }
    case 'admin_announced':
      return {
        title: 'The operator will add an admin to an organisation of yours',
        text: `@${username} becomes an admin of the organisation ${organisation} on ${minute(effectiveAt)}. ${ASK_OPERATOR}`,
        link: null,
      }
    default:
      return {
        title: 'You are no longer a member of an organisation',
        text: `The organisation is ${organisation}. ${LEFT_BY_YOU[String(change)] ?? 'Your membership ended.'} You can no longer act for it.`,
        link: null,
      }
  }
}

/** After the name of a member. */
const LEFT: Readonly<Record<string, string>> = {
  removed: 'was removed by an admin',
  left: 'left',
  scim: 'was deactivated in the directory of your organisation',
  no_group: 'is in no group that has a role',
  sso_ended: 'had the role from an identity provider that is no longer connected',
  account_deleted: 'deleted their account',
  operator: 'was removed by the operator of this service',
}

const LEFT_BY_YOU: Readonly<Record<string, string>> = {
  removed: 'An admin removed you.',
  left: 'You left. If this was not you, end all other sessions of your account.',
  scim: 'You were deactivated in its directory.',
  no_group: 'You are in no group that has a role.',
  sso_ended: 'The identity provider that gave you the role is no longer connected.',
  operator: 'The operator of this service removed you.',
  organisation_deleted: 'An admin deleted it.',
}

function organisationOf({ organisation, organisationName }: NotificationDetails): string {
  return `${selfDeclared(String(organisationName))} (@${organisation})`
}
