import { type Static, Type } from 'typebox'
import { BASE58_CLASS } from '../base58.ts'
import { channelCheckSchema } from './channels.ts'
import { timestamp } from './formats.ts'
import { displayName, username } from './names.ts'
import { nullable } from './nullable.ts'

/** Organisations: several people act for one owner. Part of the owners' API (docs/organisations.md). */

/** What members may do, least first: each may do everything that those before it may. */
export const ROLES = ['viewer', 'responder', 'manager', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Whether a role may do what needs at least another role. */
export function includesRole(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least)
}

export const roleSchema = () =>
  Type.Enum([...ROLES], {
    type: 'string',
    description:
      'viewer: reads; responder: also stops agents; manager: also creates and changes them; admin: also members and settings',
  })

export const TRANSFER_STATES = [
  'offered',
  'accepted',
  'done',
  'declined',
  'cancelled',
  'expired',
  'failed',
] as const
export type TransferState = (typeof TRANSFER_STATES)[number]

/** How many organisations a person may be an admin of. */
export const MAX_ORGANISATIONS = 5
/** Members of an organisation. */
export const MAX_MEMBERS = 500
/** Open invitations of an organisation. */
export const MAX_INVITATIONS = 100

/** The id of a membership. */
export const membershipId = () =>
  Type.String({
    pattern: `^mb_${BASE58_CLASS}{12}$`,
    description: 'the id of a membership: mb_ and 12 base58 characters',
  })

/** The query parameter that names the organisation for which a member acts. */
export const organisationParameter = () =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    description:
      'the username of the organisation that you act for; without it, the request concerns your own account',
  })

/** `POST /api/organisations` */
export const newOrganisationSchema = () =>
  Type.Object({ username: username(), displayName: displayName() }, { additionalProperties: false })

export type NewOrganisation = Static<ReturnType<typeof newOrganisationSchema>>

export const createdOrganisationSchema = () =>
  Type.Object({ username: username(), displayName: displayName(), role: roleSchema() })

export type CreatedOrganisation = Static<ReturnType<typeof createdOrganisationSchema>>

/** A member as others see them. */
const memberSchema = () =>
  Type.Object({
    id: membershipId(),
    displayName: Type.String({ description: 'chosen by the person' }),
    username: Type.Optional(username()),
    role: roleSchema(),
    source: Type.Enum(['manual', 'sso'], {
      type: 'string',
      description: 'sso: each sign-in at the identity provider of the organisation sets the role',
    }),
    since: timestamp(),
    roleSince: timestamp(),
    emergency: Type.Boolean({
      description: 'an admin with a passkey and without a user in SCIM',
    }),
    responsibleFor: Type.Integer({ description: 'the number of agents' }),
    you: Type.Boolean({ description: 'whether it is the member who asks' }),
  })

/** `GET /api/account/members` */
export const membersSchema = () => Type.Object({ members: Type.Array(memberSchema()) })

export type Members = Static<ReturnType<typeof membersSchema>>

/** `PATCH /api/account/members/{member}` */
export const memberPatchSchema = () =>
  Type.Object({ role: roleSchema() }, { additionalProperties: false })

/** What ended with a membership, or with a higher role. */
export const endedAccessSchema = () =>
  Type.Object({
    apiKeysEnded: Type.Integer({ minimum: 0 }),
    tokensEnded: Type.Integer({ minimum: 0, description: 'unused claim tokens' }),
    recoveriesEnded: Type.Integer({ minimum: 0 }),
    transfersEnded: Type.Integer({ minimum: 0 }),
    responsibleFor: Type.Integer({
      minimum: 0,
      description: 'the number of agents that now have no responsible person',
    }),
    toReview: Type.Object(
      {
        webhooks: Type.Array(Type.String()),
        grantIssuers: Type.Array(Type.String()),
        enrolmentRules: Type.Array(Type.String()),
      },
      { description: 'the ids of what the member created and what goes on: check who has access' },
    ),
  })

export type EndedAccess = Static<ReturnType<typeof endedAccessSchema>>

/** `POST /api/account/invitations` */
export const newInvitationSchema = () =>
  Type.Object(
    {
      email: Type.Optional(
        Type.String({
          minLength: 3,
          maxLength: 254,
          description: 'an e-mail address; either this or username',
        }),
      ),
      username: Type.Optional(username()),
      role: roleSchema(),
    },
    { additionalProperties: false },
  )

export type NewInvitation = Static<ReturnType<typeof newInvitationSchema>>

export const createdInvitationSchema = () =>
  Type.Object({ id: Type.String(), expiresAt: timestamp() })

export type CreatedInvitation = Static<ReturnType<typeof createdInvitationSchema>>

/** Who did something for an organisation. */
const actorSchema = () =>
  Type.Object({
    id: membershipId(),
    displayName: nullable(
      Type.String({ description: 'chosen by the person; null: their account is deleted' }),
    ),
  })

/** `GET /api/account/invitations` */
export const invitationsSchema = () =>
  Type.Object({
    invitations: Type.Array(
      Type.Object({
        id: Type.String(),
        email: nullable(Type.String()),
        username: nullable(username()),
        role: roleSchema(),
        invitedBy: actorSchema(),
        createdAt: timestamp(),
        expiresAt: timestamp(),
      }),
      { description: 'the open ones, newest first' },
    ),
  })

export type Invitations = Static<ReturnType<typeof invitationsSchema>>

/** `GET /api/invitations` */
export const ownInvitationsSchema = () =>
  Type.Object({
    invitations: Type.Array(
      Type.Object({
        id: Type.String(),
        organisation: Type.Object({
          username: username(),
          displayName: Type.String({ description: 'self-declared' }),
          verified: Type.Boolean({ description: 'has a current identity verification' }),
          domain: nullable(Type.String({ description: 'the domain that it has proven' })),
        }),
        role: roleSchema(),
        invitedBy: Type.String({ description: 'the display name of who invites' }),
        expiresAt: timestamp(),
      }),
      { description: 'newest first' },
    ),
  })

export type OwnInvitations = Static<ReturnType<typeof ownInvitationsSchema>>

/** `POST /api/invitations/{id}/accept` */
export const acceptInvitationSchema = () =>
  Type.Object(
    { role: { ...roleSchema(), description: 'the role that the invitation shows' } },
    { additionalProperties: false },
  )

/** `GET /api/account/actions` */
export const memberActionsSchema = () =>
  Type.Object({
    actions: Type.Array(
      Type.Object({
        member: actorSchema(),
        operation: Type.String({ description: 'the operationId of the request' }),
        at: timestamp(),
        apiKey: nullable(
          Type.String({ description: 'the id of the API key that sent the request; null: none' }),
        ),
      }),
      { description: 'newest first, of the last 400 days' },
    ),
    next: nullable(Type.String({ description: 'pass it as `before` for the next page' })),
  })

export type MemberActions = Static<ReturnType<typeof memberActionsSchema>>

/** `PUT /api/account/domain` */
export const newDomainSchema = () =>
  Type.Object(
    { domain: Type.String({ minLength: 1, maxLength: 512, description: 'such as example.com' }) },
    { additionalProperties: false },
  )

const domainMembers = () => ({
  domain: nullable(Type.String({ description: 'as it is compared: in lower case, A-labels' })),
  line: nullable(
    Type.String({
      description:
        'to be published in either place, for as long as the domain is to count; null if its token has expired',
    }),
  ),
  record: nullable(Type.String({ description: 'the name of the TXT record' })),
  url: nullable(Type.String({ description: 'the address of the text file' })),
  provenAt: nullable({ ...timestamp(), description: 'when a check last proved the domain' }),
  expiresAt: nullable({
    ...timestamp(),
    description: 'daily checks renew it; all members are null before a domain is set',
  }),
})

/** `GET /api/account/domain` */
export const organisationDomainSchema = () =>
  Type.Object(domainMembers(), { description: 'The domain by which an organisation is verified' })

export type OrganisationDomain = Static<ReturnType<typeof organisationDomainSchema>>

/** `POST /api/account/domain/check` */
export const checkedDomainSchema = () =>
  Type.Object({ ...domainMembers(), check: channelCheckSchema() })

export type CheckedDomain = Static<ReturnType<typeof checkedDomainSchema>>

/** `GET` and `PATCH /api/account/organisation` */
export const organisationSettingsSchema = () =>
  Type.Object(
    {
      suspendWithoutResponsibleAfterDays: nullable(
        Type.Integer({
          minimum: 1,
          maximum: 90,
          description:
            'after how many days agents without a responsible person are suspended; null: never. Default: 14',
        }),
      ),
    },
    { additionalProperties: false, description: 'Settings of the organisation' },
  )

export type OrganisationSettings = Static<ReturnType<typeof organisationSettingsSchema>>

/** An organisation in the session of one of its members. */
export const ownOrganisationSchema = () =>
  Type.Object({
    username: username(),
    displayName: displayName(),
    role: roleSchema(),
    verified: Type.Boolean({ description: 'has a current identity verification' }),
  })

/** Who acts, in `GET /api/session`. */
export const personSchema = () =>
  nullable(
    Type.Object(
      {
        username: nullable(username()),
        displayName: Type.String(),
        limited: Type.Boolean({
          description:
            'the identity provider of an organisation started the session, which acts for that organisation only',
        }),
      },
      { description: 'who is signed in; null: nobody' },
    ),
  )

/** The roles that groups of an identity provider can give: only a person makes an admin. */
export const SSO_ROLES = ['viewer', 'responder', 'manager'] as const
export type SsoRole = (typeof SSO_ROLES)[number]

const issuer = () =>
  Type.String({
    pattern: '^https?://[a-z0-9.:\\[\\]-]+(/[^\\s#?@]*)?$',
    maxLength: 512,
    description: 'the issuer: an https address without query',
  })
const roleMap = () =>
  Type.Record(
    Type.String({ pattern: '^.{1,256}$' }),
    Type.Enum([...SSO_ROLES], { type: 'string' }),
    { maxProperties: 200, description: 'roles by the exact id of a group; the highest counts' },
  )

/** A function, as all schemas are: bundlers leave out what is not called, and TypeBox with it. */
const ssoSettings = () => ({
  issuer: issuer(),
  clientId: Type.String({ pattern: '^[!-~]{1,512}$', description: 'a client id' }),
  groupClaim: Type.String({
    pattern: '^[!-~]{1,256}$',
    description: 'the claim of the ID token with the groups, such as groups',
  }),
  roleMap: roleMap(),
  subjectClaim: Type.Enum(['sub', 'oid'], {
    type: 'string',
    description: 'the claim that is the externalId of users in SCIM',
  }),
})

/** `PUT /api/account/sso` */
export const ssoConnectionRequestSchema = () =>
  Type.Object(
    {
      ...ssoSettings(),
      clientSecret: Type.Optional(
        nullable(
          Type.String({
            pattern: '^[ -~]{1,1024}$',
            description:
              'null: a public client; left out: the stored one, as long as issuer and client stay',
          }),
        ),
      ),
    },
    { additionalProperties: false },
  )

export type SsoConnectionRequest = Static<ReturnType<typeof ssoConnectionRequestSchema>>

const ssoConnection = () => ({
  ...ssoSettings(),
  hasSecret: Type.Boolean(),
  callbackUrl: Type.String({
    description: 'the redirect URI to register at the identity provider',
  }),
  signInUrl: Type.String({ description: 'where members sign in' }),
  createdAt: timestamp(),
  updatedAt: timestamp(),
})

/** `GET /api/account/sso` */
export const ssoConnectionSchema = () =>
  Type.Object({ connection: nullable(Type.Object(ssoConnection())) })

export type SsoConnection = NonNullable<
  Static<ReturnType<typeof ssoConnectionSchema>>['connection']
>

export const ssoConnectionResultSchema = () =>
  Type.Object({
    ...ssoConnection(),
    checks: Type.Array(
      Type.Object({
        name: Type.String(),
        ok: Type.Boolean(),
        detail: Type.String({ description: 'what was found, or how to fix it' }),
      }),
    ),
  })

export type SsoConnectionResult = Static<ReturnType<typeof ssoConnectionResultSchema>>

/** `POST /sign-in/organisation` */
export const organisationSignInQuery = () =>
  Type.Object(
    {
      name: Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'the username of the organisation',
      }),
    },
    { additionalProperties: false },
  )
