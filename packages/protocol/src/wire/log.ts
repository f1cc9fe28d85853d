import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

const origin = () =>
  Type.String({ description: 'names the log in its checkpoints, such as id.example/log/1' })
const verifierKey = () =>
  Type.String({
    description: 'the key of the log, as C2SP signed-note and Go’s note.NewVerifier read it',
  })
const size = () => Type.Integer({ minimum: 0, description: 'entries under the newest checkpoint' })
const index = (description: string) => Type.Integer({ minimum: 0, description })

/** `GET /log` */
export const logSchema = () =>
  Type.Object(
    {
      origin: origin(),
      epoch: Type.Integer({ minimum: 1, description: 'the number of the current log' }),
      verifierKey: verifierKey(),
      size: size(),
      checkpointAt: timestamp(),
      completeFrom: nullable(
        Type.Object(
          {
            index: index('of the first entry after those about agents that were claimed before'),
            at: timestamp(),
          },
          {
            description:
              'From here on, every change has an entry. Null: agents from before the log are being added.',
          },
        ),
      ),
      epochs: Type.Array(
        Type.Object({
          epoch: Type.Integer({ minimum: 1 }),
          origin: origin(),
          verifierKey: verifierKey(),
          size: size(),
        }),
        { description: 'All logs of this service, oldest first; each is served at /log/{epoch}/' },
      ),
    },
    { description: 'The transparency log' },
  )

/** `GET /log/agent/{did}` */
export const agentLogSchema = (naming: Naming) =>
  Type.Object(
    {
      did: did(naming),
      origin: origin(),
      size: size(),
      entries: Type.Array(
        Type.Object({
          index: index('its place in the log'),
          leaf: Type.String({ description: 'RFC 6962: SHA-256(0x00 ‖ entry), base64' }),
          entry: Type.String({ description: 'canonical JSON, exactly as it is hashed' }),
        }),
      ),
      next: nullable(index('the `from` of the next page')),
    },
    { description: 'The entries about an agent, oldest first' },
  )

/** What the commitment of an entry opens to (`commitmentTo`). */
export const openingSchema = () =>
  Type.Object({
    index: index('its place in the log'),
    entry: Type.String({ description: 'canonical JSON, exactly as it is hashed' }),
    salt: Type.String({ description: '32 bytes, base64' }),
    evidence: Type.String({ description: 'canonical JSON that the entry commits to' }),
  })

/** `GET /api/account/agents/{agent}/log` */
export const openingsSchema = (naming: Naming) =>
  Type.Object(
    {
      did: did(naming),
      origin: origin(),
      openings: Type.Array(openingSchema()),
      next: nullable(index('the `from` of the next page')),
    },
    { description: 'What the commitments about an agent open to' },
  )

/** `GET /witness` */
export const witnessSchema = () =>
  Type.Object(
    {
      name: Type.String({ description: 'names the witness, such as id.example/witness/1' }),
      verifierKey: Type.String({
        description: 'its key for cosignatures, as C2SP tlog-policy reads it',
      }),
      url: Type.String({ description: 'the prefix of `add-checkpoint` (C2SP tlog-witness)' }),
      logs: Type.Array(
        Type.Object({
          origin: origin(),
          size: Type.Integer({
            minimum: 0,
            description: 'entries under the checkpoint that was cosigned last; 0: none',
          }),
        }),
        { description: 'The logs whose checkpoints it cosigns' },
      ),
    },
    { description: 'The witness of other transparency logs' },
  )

export type LogInfo = Static<ReturnType<typeof logSchema>>
export type AgentLog = Static<ReturnType<typeof agentLogSchema>>
export type Openings = Static<ReturnType<typeof openingsSchema>>
