import { minute, type NotificationText } from './notification-text.ts'
import type { NotificationDetails } from './notify-owner.ts'

/** Of agents of an organisation without a responsible person. */
export function describeMissing({
  count,
  isSuspended,
  suspendAt,
}: NotificationDetails): NotificationText {
  const isOne = count === 1
  const agents = isOne ? '1 agent' : `${count} agents`
  const them = isOne ? 'it' : 'each of them'
  const link = '/dashboard/agents?responsible=none'
  if (isSuspended === 1) {
    return {
      title: `${agents} without a responsible person ${isOne ? 'was' : 'were'} suspended`,
      text: `Make a member responsible for ${them}, then reactivate ${isOne ? 'it' : 'them'}.`,
      link,
    }
  }
  const then =
    suspendAt === null
      ? ''
      : ` Otherwise, ${isOne ? 'it is' : 'they are'} suspended on ${minute(suspendAt)}.`
  return {
    title: `${agents} ${isOne ? 'has' : 'have'} no responsible person`,
    text: `Make a member of the organisation responsible for ${them}.${then}`,
    link,
  }
}
