import { ASSURANCES, type Assurance } from '@countersign/protocol'
import { type Static, Type } from 'typebox'
import { secretReference } from './secret-reference.ts'
import { idField, labelField, signInField, validForDaysField } from './settings-fields.ts'

const CLIENT_AUTHS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

/** The kinds that an operator can choose. `in-person` and `development` are reserved. */
const KINDS = ['eid', 'personhood', 'kyc', 'social'] as const

const assurance = () => Type.Enum([...ASSURANCES], { type: 'string' })
const url = (description: string) =>
  Type.String({ pattern: '^https?://[a-z0-9.-]+(:[0-9]{1,5})?(/[^\\s#?@]*)?$', description })
const word = (description: string) => Type.String({ pattern: '^[!-~]{1,256}$', description })
const words = (description: string) => Type.Array(word(description), { minItems: 1, description })

/** `{"type": "oidc"}` in the operator's file (docs/identity-providers.md). */
export const oidcSettings = () =>
  Type.Object(
    {
      id: idField(),
      type: Type.Literal('oidc'),
      preset: Type.Optional(Type.String({ description: 'the name of a preset' })),
      issuer: Type.Optional(url('the issuer, an address without query')),
      domain: Type.Optional(
        Type.String({
          pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$',
          description: 'the domain that the provider has given you, such as yours.idura.broker',
        }),
      ),
      tenant: Type.Optional(
        Type.String({
          pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
          description: 'the id of a tenant: a GUID in lower case, since names of tenants change',
        }),
      ),
      clientId: Type.String({ minLength: 1, maxLength: 512, description: 'a client id' }),
      clientSecret: Type.Optional(secretReference()),
      privateKey: Type.Optional(secretReference()),
      privateKeyId: Type.Optional(word('the key id (kid) of the private key')),
      clientAuth: Type.Optional(
        Type.Enum([...CLIENT_AUTHS], {
          type: 'string',
          description: `one of: ${CLIENT_AUTHS.join(', ')}`,
        }),
      ),
      assertionAudience: Type.Optional(
        Type.Enum(['issuer', 'token-endpoint'], {
          type: 'string',
          description: 'the audience of private_key_jwt: issuer or token-endpoint',
        }),
      ),
      label: Type.Optional(labelField()),
      nameClaim: Type.Optional(
        word('the claim with the name that the provider has verified, such as name'),
      ),
      nameScope: Type.Optional(word('the scope that asks for nameClaim; profile by default')),
      kind: Type.Optional(
        Type.Enum([...KINDS], { type: 'string', description: `one of: ${KINDS.join(', ')}` }),
      ),
      proves: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description: 'a sentence of 1 to 200 characters',
        }),
      ),
      assurance: Type.Optional(
        Type.Enum([...ASSURANCES], {
          type: 'string',
          description: `one of: ${ASSURANCES.join(', ')}`,
        }),
      ),
      for: Type.Optional(
        Type.Enum(['person', 'organisation'], {
          type: 'string',
          description: 'whom it verifies: person (the default) or organisation',
        }),
      ),
      subjectClaim: Type.Optional(
        word('the claim that identifies the organisation, such as its company number'),
      ),
      validForDays: Type.Optional(validForDaysField()),
      signIn: Type.Optional(signInField()),
      scopes: Type.Optional(words('a list of scopes; openid is always asked for')),
      acr: Type.Optional(
        Type.Unsafe<string[] | Record<string, Assurance>>({
          anyOf: [words('values'), Type.Record(Type.String(), assurance(), { minProperties: 1 })],
          description:
            'the accepted values of acr: a list, or an object with what each value is worth (low, substantial, high)',
        }),
      ),
      acrValues: Type.Optional(words('a list of the values asked for as acr_values')),
      acrClaim: Type.Optional(word('the claim of the ID token that is held against acr')),
      maxAge: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 86_400,
          description: 'seconds, from 0 to 86400',
        }),
      ),
      requireAuthTime: Type.Optional(Type.Boolean({ description: 'true or false' })),
      prompt: Type.Optional(word('a value of prompt, such as login or select_account')),
      par: Type.Optional(
        Type.Boolean({ description: 'false, to push no requests although the provider offers it' }),
      ),
      coreIdentity: Type.Optional(url('who signs the core identity of GOV.UK One Login')),
    },
    { additionalProperties: false },
  )

export type OidcSettings = Static<ReturnType<typeof oidcSettings>>
