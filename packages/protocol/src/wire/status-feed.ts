import { type Static, Type } from 'typebox'
import { feedChangeSchema, positionClaims } from './certificate.ts'

/** The media type of the feed, one JSON value a line. The same lines come as server-sent events if `text/event-stream` is asked for. */
export const FEED_TYPE = 'application/x-ndjson'

const number = (description: string) => Type.Integer({ minimum: 0, description })
const sha256 = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description: `${description}, base64url` })

/** A line of the feed with its end at a time: all changes up to the head's `n` come before it. */
export const feedHeadLineSchema = () =>
  Type.Object({
    head: Type.String({
      description:
        'a JWS with the claims of a head. It is also the cursor from which the feed continues: after=<head>',
    }),
  })
export type FeedHeadLine = Static<ReturnType<typeof feedHeadLineSchema>>

/** A line of the feed. */
export const feedLineSchema = () =>
  Type.Union([feedChangeSchema(), feedHeadLineSchema()], { description: 'A line of the feed' })
export type FeedLine = Static<ReturnType<typeof feedLineSchema>>

/** The claims of the manifest of a snapshot. */
export const snapshotClaimsSchema = () =>
  Type.Object(
    {
      iss: Type.String({ description: 'the origin of the service' }),
      iat: number('Unix seconds'),
      exp: number('Unix seconds'),
      ...positionClaims(),
      lists: Type.Array(
        Type.Object({
          list: number('the number of the status list'),
          hash: sha256('SHA-256 of its bytes, not compressed'),
        }),
        { description: 'all status lists' },
      ),
    },
    { description: 'The claims of the manifest of a snapshot' },
  )
export type SnapshotClaims = Static<ReturnType<typeof snapshotClaimsSchema>>

/** `GET /api/v1/snapshot`: all status lists in one state. */
export const snapshotSchema = () =>
  Type.Object(
    {
      manifest: Type.String({ description: 'a JWS with the hashes of all lists' }),
      head: Type.String({
        description:
          'the head of the feed in this state, from which the feed continues: after=<head>',
      }),
      lists: Type.Array(
        Type.Object({
          list: number('the number of the status list'),
          lst: Type.String({
            description: 'as in the status list token: its bytes, compressed (zlib), base64url',
          }),
        }),
      ),
    },
    { description: 'All status lists in one state' },
  )
export type Snapshot = Static<ReturnType<typeof snapshotSchema>>
