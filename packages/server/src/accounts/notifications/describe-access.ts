import { type NotificationText, selfDeclared } from './notification-text.ts'
import type { NotificationDetails } from './notify-owner.ts'

/** New access of an owner, in words. */
export function describeAccess({
  change,
  webhook,
  host,
  name,
  domain,
}: NotificationDetails): NotificationText {
  if (change === 'owner.grant_issuer_created') {
    return {
      title: 'A grant issuer was created for your account',
      text: `Its name is ${selfDeclared(String(name))}. It can sign grants, with which your agents get access tokens.`,
      link: '/dashboard/grant-issuers',
    }
  }
  if (change === 'owner.scim_token_created') {
    return {
      title: 'A SCIM token was created for your organisation',
      text: 'With it, an identity provider can end memberships. It can make no members.',
      link: '/dashboard/account/sign-in',
    }
  }
  if (change === 'owner.domain_set') {
    return {
      title: `The domain ${domain} was set for your organisation`,
      text: 'Once the domain publishes the token of the organisation, certificates of its agents show the domain as verified.',
      link: '/dashboard/identity',
    }
  }
  if (change === 'owner.sso_connected') {
    return {
      title: `The identity provider at ${host} was connected or changed`,
      text: 'It signs people in to your organisation, and its groups give them roles.',
      link: '/dashboard/account/sign-in',
    }
  }
  const link = `/dashboard/webhooks/${webhook}`
  return change === 'owner.webhook_created'
    ? {
        title: `A webhook endpoint at ${host} was added to your account`,
        text: 'It gets the events of your agents.',
        link,
      }
    : {
        title: `A webhook endpoint of yours was moved to ${host}`,
        text: 'It gets the events of your agents there.',
        link,
      }
}
