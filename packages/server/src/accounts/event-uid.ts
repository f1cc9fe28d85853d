import { CodedError } from '@countersign/protocol'
import type { Db } from '../database/database.ts'
import { EPOCH_SETTING, readSetting } from '../database/settings-table.ts'
import type { ActivityPosition } from './account-activity-table.ts'

/** `12` for the event with this number, `12.3` for the activity 3 after it. */
export function positionText({ seq, id }: ActivityPosition): string {
  return id === 0 ? String(seq) : `${seq}.${id}`
}

/** @param text from `positionText` */
export function parsePosition(text: string): ActivityPosition {
  const [seq, id = 0] = text.split('.').map(Number)
  return { seq: seq ?? 0, id }
}

/** The identifier of an event, the same in every way of receiving it; also the cursor after it. */
export function eventUid(epoch: string, position: ActivityPosition): string {
  return `${epoch}-${positionText(position)}`
}

/**
 * The time in which no event was lost, within which numbers of events count.
 * @throws CodedError UNAVAILABLE before the first start after a restore
 */
export async function currentEpoch(db: Db): Promise<string> {
  const epoch = await readSetting(db, EPOCH_SETTING)
  if (epoch !== null) return epoch
  throw new CodedError('UNAVAILABLE', 'The service is starting. Try again in 5 seconds.', {
    retryAfterSeconds: 5,
  })
}
