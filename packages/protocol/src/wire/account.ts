import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { ASSURANCES } from '../status.ts'
import { apiKeySchema } from './api-keys.ts'
import { exportedApprovalsSchema } from './approvals.ts'
import { exportedChannelSchema } from './channels.ts'
import { exportedDelegationGroupSchema } from './delegation.ts'
import { exportedEnrolmentRulesSchema } from './enrolment.ts'
import { publicKey, timestamp } from './formats.ts'
import { exportedGrantIssuersSchema } from './grants.ts'
import { agentKey, keyRecovery, keyRenouncing } from './keys.ts'
import { openingSchema } from './log.ts'
import { exportedMandatesSchema } from './mandates.ts'
import { displayName, username } from './names.ts'
import {
  exportedAddressesSchema,
  exportedNotificationsSchema,
  exportedPreferencesSchema,
} from './notifications.ts'
import { nullable } from './nullable.ts'
import {
  exportedMembershipsSchema,
  exportedOrganisationSchema,
  exportedTransfersSchema,
} from './organisation-export.ts'
import { accountActivitySchema, eventSchema, ownerAgentSchema } from './owner-agents.ts'
import { exportedFormerReportsSchema, exportedReportsSchema } from './reports.ts'
import { ownerSchema, passkeyName, recoveryCodes, SIGN_IN_METHODS } from './session.ts'
import { exportedWebhooksSchema } from './webhooks.ts'

/** The account of the signed-in owner. Part of the dashboard's own API. */

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
      description: 'the User-Agent of the browser, at most 256 characters',
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

/** `POST /api/account/deletion`: the owner's username, repeated as confirmation. */
export const deletionRequestSchema = () =>
  Type.Object({ username: username() }, { additionalProperties: false })

/** How many agents were revoked. */
export const revokedSchema = () => Type.Object({ revokedAgents: Type.Integer() })

const exportedRecovery = () =>
  Type.Object(
    {
      ...keyRecovery().properties,
      tokenExpiresAt: timestamp(),
      tokenUsedAt: nullable(timestamp()),
    },
    { description: 'The recovery of a key that is pending; null: none' },
  )

const exportedAgent = (naming: Naming) =>
  Type.Object({
    ...ownerAgentSchema(naming).properties,
    publicKey: publicKey(),
    avatar: nullable(Type.String({ description: 'the picture that was uploaded: WebP, base64' })),
    channels: Type.Array(exportedChannelSchema(), { description: 'the oldest first' }),
    keys: Type.Array(Type.Object({ ...agentKey().properties, publicKey: publicKey() }), {
      description: 'former and current, oldest first',
    }),
    recovery: nullable(exportedRecovery()),
    renouncing: nullable(keyRenouncing()),
    delegations: Type.Array(exportedDelegationGroupSchema(), {
      description: 'groups of delegations, newest first',
    }),
    history: Type.Array(eventSchema(), {
      description: 'newest first; former recoveries are among the events',
    }),
    log: Type.Array(openingSchema(), {
      description: 'what the commitments of the transparency log open to',
    }),
    reports: exportedReportsSchema(),
  })

/** `GET /api/account/export`: all data stored about the owner, except secrets and their hashes. */
export const exportSchema = (naming: Naming) =>
  Type.Object(
    {
      service: Type.String({ format: 'uri' }),
      exportedAt: timestamp(),
      owner: ownerSchema(),
      createdAt: timestamp(),
      suspendedAt: nullable(timestamp()),
      suspensionReason: nullable(Type.String()),
      nameChangedAt: nullable({
        ...timestamp(),
        description: 'when the display name or username last changed',
      }),
      badgeCopiedAt: nullable({
        ...timestamp(),
        description: 'when the owner first copied the code of a badge; null: never',
      }),
      onboardingHiddenAt: nullable({
        ...timestamp(),
        description: 'when the owner hid the checklist of first steps; null: it is shown',
      }),
      userHandle: nullable(
        Type.String({ description: 'the user handle of the owner’s passkeys, base64url' }),
      ),
      passkeys: Type.Array(passkeySchema()),
      recoveryCodes: Type.Object({ left: Type.Integer(), createdAt: nullable(timestamp()) }),
      sessions: Type.Array(
        Type.Object({
          ...sessionEntry().properties,
          passkey: nullable(
            Type.String({ description: 'the credential id of the passkey that started it' }),
          ),
        }),
      ),
      apiKeys: Type.Array(apiKeySchema(), { description: 'newest first' }),
      signInProviders: Type.Array(Type.Object({ id: Type.String(), linkedAt: timestamp() })),
      signInLinks: Type.Array(Type.Object({ expiresAt: timestamp() })),
      begun: Type.Array(
        Type.Object({
          kind: Type.String(),
          provider: nullable(Type.String()),
          expiresAt: timestamp(),
        }),
        { description: 'sign-ins and verifications in progress' },
      ),
      verifications: Type.Array(
        Type.Object({
          provider: Type.String(),
          assurance: Type.Enum([...ASSURANCES], { type: 'string' }),
          country: nullable(Type.String()),
          verifiedAt: timestamp(),
          expiresAt: nullable(timestamp()),
          publishedName: nullable(Type.String()),
        }),
      ),
      releasedUsernames: Type.Array(Type.Object({ availableAt: timestamp() }), {
        description:
          "until when others cannot use the owner's former usernames, of which only hashes are stored",
      }),
      claimTokens: Type.Array(
        Type.Object({
          createdAt: timestamp(),
          expiresAt: timestamp(),
          usedAt: nullable(timestamp()),
          supersededAt: nullable(timestamp()),
        }),
      ),
      organisation: exportedOrganisationSchema(),
      memberships: exportedMembershipsSchema(),
      transfers: exportedTransfersSchema(naming),
      webhooks: exportedWebhooksSchema(naming),
      enrolmentRules: exportedEnrolmentRulesSchema(),
      formerReports: exportedFormerReportsSchema(naming),
      grantIssuers: exportedGrantIssuersSchema(naming),
      approvals: exportedApprovalsSchema(naming),
      mandates: exportedMandatesSchema(naming),
      notifications: exportedNotificationsSchema(),
      emailAddresses: exportedAddressesSchema(),
      emailPreferences: exportedPreferencesSchema(),
      activity: Type.Array(accountActivitySchema(), {
        description:
          'sign-ins, ended sessions and changes of sign-in methods of the last 400 days, newest first',
      }),
      events: Type.Array(eventSchema(), { description: 'about the account, oldest first' }),
      agents: Type.Array(exportedAgent(naming), { description: 'newest first' }),
    },
    { description: 'All data about the owner' },
  )

export type AccountExport = Static<ReturnType<typeof exportSchema>>
