import { type Static, Type } from 'typebox'
import { timestamp } from './formats.ts'
import { nullable } from './nullable.ts'
import {
  displayName,
  ownerSchema,
  passkeyName,
  recoveryCodes,
  SIGN_IN_METHODS,
  username,
} from './session.ts'

/** The account of whoever is signed in. The dashboard's own API. */

export const passkeySchema = () =>
  Type.Object({
    id: Type.String({ description: 'the credential id, base64url' }),
    name: Type.String(),
    createdAt: timestamp(),
    lastUsedAt: nullable(timestamp()),
    backedUp: Type.Boolean({ description: 'the passkey is synchronised to other devices' }),
  })

export type Passkey = Static<ReturnType<typeof passkeySchema>>

const sessionEntry = () =>
  Type.Object({
    id: Type.String(),
    current: Type.Boolean(),
    method: Type.Enum([...SIGN_IN_METHODS], { type: 'string' }),
    browser: Type.String({
      description: 'what the browser says of itself, at most 256 characters',
    }),
    createdAt: timestamp(),
    lastSeenAt: timestamp(),
    expiresAt: timestamp(),
  })

/** `GET /api/account` */
export const accountSchema = () =>
  Type.Object(
    {
      owner: ownerSchema(),
      createdAt: timestamp(),
      passkeys: Type.Array(passkeySchema()),
      recoveryCodes: Type.Object({ left: Type.Integer(), createdAt: nullable(timestamp()) }),
      sessions: Type.Array(sessionEntry()),
      signInProviders: Type.Array(
        Type.Object({
          id: Type.String(),
          label: Type.String(),
          linkedAt: nullable(timestamp()),
        }),
      ),
    },
    { description: 'The account' },
  )

export type Account = Static<ReturnType<typeof accountSchema>>

/** `PATCH /api/account` */
export const accountPatchSchema = () =>
  Type.Object(
    { username: Type.Optional(username()), displayName: Type.Optional(displayName()) },
    { additionalProperties: false, minProperties: 1 },
  )

export type AccountPatch = Static<ReturnType<typeof accountPatchSchema>>

/** `PATCH /api/account/passkeys/{id}` */
export const passkeyPatchSchema = () =>
  Type.Object({ name: passkeyName() }, { additionalProperties: false })

/** `POST /api/account/recovery-codes` */
export const recoveryCodesSchema = () => Type.Object({ recoveryCodes: recoveryCodes() })

/** `POST /api/account/deletion`: the username, typed once more. */
export const deletionRequestSchema = () =>
  Type.Object({ username: username() }, { additionalProperties: false })

/** What became of the agents. */
export const revokedSchema = () => Type.Object({ revokedAgents: Type.Integer() })
