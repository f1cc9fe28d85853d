import { day, minute, type NotificationText, selfDeclared } from './notification-text.ts'
import type { NotificationDetails } from './notify-owner.ts'

const IF_NOT_YOU =
  ' If this was not you, end all other sessions and remove sign-in methods that you do not know.'

/**
 * A transfer of agents, by what happened to it.
 * @param agent the first of the agents, as its owner named it
 */
export function describeTransfer(
  { change, agents, username, effectiveAt, expiresAt, failure }: NotificationDetails,
  agent: string,
): NotificationText {
  const link = '/dashboard/transfers'
  const isOne = Number(agents) === 1
  const what = isOne ? agent : `${agents} agents`
  const [they, them] = isOne ? ['It', 'it'] : ['They', 'them']
  const who = typeof username === 'string' ? selfDeclared(username) : 'An owner without an account'
  switch (change) {
    case 'offered':
      return {
        title: `${who} offers you ${isOne ? 'an agent' : what}`,
        text: `You can accept until ${day(expiresAt)}. From then on, you are the owner. The sender may still have ${isOne ? 'the key' : 'the keys'}.`,
        link,
      }
    case 'accepted':
      return {
        title: `${who} accepted ${what}`,
        text: `${they} will move on ${minute(effectiveAt)}. Until then, you can cancel the transfer.${IF_NOT_YOU}`,
        link,
      }
    case 'released':
      return {
        title: `${what} moved to ${who}`,
        text: `You can no longer change or revoke ${them}.${IF_NOT_YOU}`,
        link,
      }
    case 'taken':
      return {
        title: `${what} moved to you from ${who}`,
        text: `The former owner may still have ${isOne ? 'the key' : 'the keys'}. Rotate ${isOne ? 'it' : 'each key'}.`,
        link,
      }
    default:
      return {
        title: `A transfer of ${what} ${ENDS[String(change)] ?? 'ended'}`,
        text: `The other owner is ${who}. ${they} ${isOne ? 'stays' : 'stay'} with the sender.${typeof failure === 'string' ? ` Error code: ${failure}.` : ''}`,
        link,
      }
  }
}

const ENDS: Readonly<Record<string, string>> = {
  declined: 'was declined',
  cancelled: 'was cancelled',
  expired: 'was not accepted in time',
  failed: 'failed',
}
