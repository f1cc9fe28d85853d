import {
  isSecurityKind,
  NOTIFICATION_KINDS,
  type Notification,
  type NotificationKind,
  type Notifications,
} from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Db } from '../../database/database.ts'
import type { NotificationRow } from '../../database/schema/notification-rows.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { memberNames } from '../organisations/membership-table.ts'
import { agentsIn, describeNotification, membersIn, type Names } from './describe-notification.ts'
import {
  agentNames,
  countUnread,
  markRead,
  type NotificationPosition,
  notificationsBefore,
} from './notification-table.ts'

const PAGE_SIZE = 30
const MAX_UNREAD = 100
const MAX_EXPORTED = 100_000

/**
 * A page of an owner's notifications, newest first.
 * @param before `next` of the page before; undefined: the first page. Any other text gives the first page too
 */
export async function listNotifications(
  { db, site }: Pick<CoreDeps, 'db' | 'site'>,
  ownerId: number,
  before: string | undefined,
): Promise<Notifications> {
  const position = parsePosition(before)
  const rows = await notificationsBefore(
    db.read,
    ownerId,
    position,
    NOTIFICATION_KINDS,
    PAGE_SIZE + 1,
  )
  const page = rows.slice(0, PAGE_SIZE)
  const last = page.at(-1)
  return {
    notifications: await describeAll(db.read, page, site),
    unread: await countUnread(db.read, ownerId, NOTIFICATION_KINDS, MAX_UNREAD),
    next: rows.length > PAGE_SIZE && last !== undefined ? `${last.created_at}.${last.id}` : null,
  }
}

/** Marks notifications of an owner as read. @param ids null: all of them */
export async function readNotifications(
  { db, now }: Pick<CoreDeps, 'db' | 'now'>,
  ownerId: number,
  ids: readonly string[] | null,
): Promise<void> {
  await db.write((tx) => markRead(tx, ownerId, ids, now()))
}

/** All notifications of an owner, for the export of the account. */
export async function exportNotifications(
  db: Db,
  site: Site,
  ownerId: number,
): Promise<Notification[]> {
  const rows = await notificationsBefore(db, ownerId, null, NOTIFICATION_KINDS, MAX_EXPORTED)
  return describeAll(db, rows, site)
}

function parsePosition(before: string | undefined): NotificationPosition | null {
  const [, at, id] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(before ?? '') ?? []
  return at === undefined || id === undefined ? null : { createdAt: Number(at), id }
}

/** Names of agents are read for this many notifications at once. */
const AT_ONCE = 500

async function describeAll(
  db: Db,
  rows: readonly NotificationRow[],
  site: Site,
): Promise<Notification[]> {
  const described: Notification[] = []
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const part = rows.slice(from, from + AT_ONCE)
    const names = await namesIn(db, part)
    described.push(...part.flatMap((row) => describe(row, site, names)))
  }
  return described
}

/** The names of the agents and members that notifications are about. */
export async function namesIn(
  db: Db,
  rows: readonly Pick<NotificationRow, 'details'>[],
): Promise<Names> {
  const agents = await agentNames(db, agentsIn(rows))
  return new Map([...agents, ...(await memberNames(db, membersIn(rows)))])
}

function describe(row: NotificationRow, site: Site, names: Names): Notification[] {
  const words = describeNotification(row, site, names)
  if (words === null) return []
  const kind = row.kind as NotificationKind
  return [
    {
      id: row.id,
      kind,
      security: isSecurityKind(kind),
      ...words,
      createdAt: timestamp(row.created_at),
      readAt: row.read_at === null ? null : timestamp(row.read_at),
    },
  ]
}
