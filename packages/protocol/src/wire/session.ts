import { type Static, Type } from 'typebox'
import { timestamp } from './formats.ts'
import { displayName, username } from './names.ts'
import { nullable } from './nullable.ts'
import { ownOrganisationSchema, personSchema } from './organisations.ts'

/** Sessions and sign-in. Part of the dashboard's own API (docs/contract/authentication.md). */

/** An object whose members another standard defines. */
export const openObject = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description })

/** An empty JSON object. Requiring JSON prevents form posts from other sites. */
export const emptyBody = () => Type.Object({}, { additionalProperties: false })

/** An owner as others see them. */
export const ownerSchema = () => Type.Object({ username: username(), displayName: displayName() })

export type Owner = Static<ReturnType<typeof ownerSchema>>

/** How the owner signed in. */
export const SIGN_IN_METHODS = ['passkey', 'recovery-code', 'link', 'provider'] as const
export type SignInMethod = (typeof SIGN_IN_METHODS)[number]

export const CHANNEL_TROUBLES = ['stale', 'failing', 'ending'] as const
/** `stale`: no longer counts; `failing`: the proof is missing; `ending`: needs a new proof soon. */
export type ChannelTrouble = (typeof CHANNEL_TROUBLES)[number]

const channelNoteSchema = () =>
  Type.Object({
    tail: Type.String({ description: "the agent's" }),
    displayName: displayName(),
    label: Type.String({ description: 'the kind of channel, in words' }),
    handleOrDomain: Type.String(),
    trouble: Type.Enum([...CHANNEL_TROUBLES], {
      type: 'string',
      description: 'stale: no longer counts; failing: its proof is missing; ending: renew it soon',
    }),
    until: nullable({ ...timestamp(), description: 'when the proof expires, if it is valid' }),
  })

/** `GET /api/session`: the initial state of a page, signed in or not. */
export const sessionSchema = () =>
  Type.Object(
    {
      owner: nullable(ownerSchema()),
      person: personSchema(),
      actingFor: nullable({
        ...username(),
        description: 'the organisation that the session acts for; null: the own account',
      }),
      organisations: Type.Array(ownOrganisationSchema(), {
        description: 'those that the person can act for',
      }),
      invitations: Type.Integer({
        minimum: 0,
        description: 'the number of open invitations to the person',
      }),
      suspension: nullable(
        Type.Object(
          {
            since: timestamp(),
            reason: nullable(Type.String({ description: 'a reason code that the operator chose' })),
          },
          { description: 'the operator suspended the signed-in owner; null: not suspended' },
        ),
      ),
      signedInAt: nullable(timestamp()),
      signInMethod: Type.Unsafe<SignInMethod | null>({
        type: ['string', 'null'],
        enum: [...SIGN_IN_METHODS, null],
        description: 'how the owner signed in; null: nobody is signed in',
      }),
      recentUntil: nullable({
        ...timestamp(),
        description: 'until when the sign-in is recent',
      }),
      renewal: nullable(
        Type.Object(
          {
            provider: Type.String(),
            label: Type.String(),
            expiresAt: timestamp(),
            expired: Type.Boolean(),
          },
          { description: 'the identity verification that needs renewal, if any' },
        ),
      ),
      channelNotes: Type.Array(channelNoteSchema(), {
        description: 'channels that need attention, most urgent first',
      }),
      service: Type.Object({
        name: Type.String(),
        shortName: Type.String(),
        idHeader: Type.String(),
        baseUrl: Type.String(),
        cliPackage: Type.String({
          description: "the URL of the command's package, for npx: npx -y <cliPackage> whoami",
        }),
        passkeys: Type.Boolean({
          description: 'whether browsers allow passkeys at this address; false for an IP address',
        }),
        development: Type.Boolean({
          description: 'the identity providers are for development only',
        }),
        recoveryDelaySeconds: Type.Integer({
          description:
            'the time from the redemption of a recovery token until the new key takes effect',
        }),
      }),
      signInProviders: Type.Array(Type.Object({ id: Type.String(), label: Type.String() })),
    },
    { description: 'The session and the sign-in methods' },
  )

export type SessionState = Static<ReturnType<typeof sessionSchema>>

/** `POST /api/sign-up/options`, `POST /api/sign-up/provider`. */
export const signUpRequestSchema = () =>
  Type.Object({ username: username(), displayName: displayName() }, { additionalProperties: false })

export type SignUpRequest = Static<ReturnType<typeof signUpRequestSchema>>

/** Options for `navigator.credentials` (WebAuthn Level 3, JSON form). */
export const passkeyOptionsSchema = () =>
  Type.Object({ options: openObject('WebAuthn options in their JSON form') })

/** The name that the owner gave a passkey. */
export const passkeyName = () => displayName()

/** The authenticator's response (WebAuthn Level 3, JSON form). */
export const passkeyResponseSchema = () =>
  Type.Object(
    { response: openObject('the credential in its JSON form'), name: Type.Optional(passkeyName()) },
    { additionalProperties: false },
  )

export const RECOVERY_CODES = 10

/** Recovery codes, shown once. */
export const recoveryCodes = () =>
  Type.Array(Type.String(), {
    minItems: RECOVERY_CODES,
    maxItems: RECOVERY_CODES,
    description: 'each is single-use; shown only once',
  })

/** `POST /api/sign-up` and `/api/sign-up/provider`. */
export const signedUpSchema = () =>
  Type.Object({ owner: ownerSchema(), recoveryCodes: recoveryCodes() })

export type SignedUp = Static<ReturnType<typeof signedUpSchema>>

/** `POST /api/sign-in/…` */
export const signedInSchema = () => Type.Object({ owner: ownerSchema() })

/** `POST /api/sign-in/recovery-code` */
export const recoveryCodeRequestSchema = () =>
  Type.Object(
    { username: username(), code: Type.String({ minLength: 1, maxLength: 64 }) },
    { additionalProperties: false },
  )

/** `POST /api/sign-in/link`: the token from the fragment of a link made by `countersignd owner sign-in-link`. */
export const signInLinkRequestSchema = () =>
  Type.Object(
    { token: Type.String({ minLength: 1, maxLength: 64 }) },
    { additionalProperties: false },
  )

/** `POST /api/sign-in/provider`, `POST /api/account/sign-in-providers`. */
export const providerRequestSchema = () =>
  Type.Object(
    { provider: Type.String({ minLength: 1, maxLength: 64 }) },
    { additionalProperties: false },
  )

/** Where to send the browser. */
export const redirectSchema = () => Type.Object({ redirect: Type.String({ format: 'uri' }) })
