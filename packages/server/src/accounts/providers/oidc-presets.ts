import type { OidcSettings } from './oidc-settings.ts'

type Defaults = Omit<Partial<OidcSettings>, 'id' | 'type' | 'preset' | 'clientId'>

/** Settings of a provider, from its documentation. The operator's settings override them. */
export interface OidcPreset {
  readonly defaults: Defaults
  /** Settings that the operator must provide. */
  readonly needs: readonly (keyof OidcSettings)[]
  /** Derives the issuer from `domain` or `tenant`. */
  readonly issuer?: (settings: OidcSettings) => string | undefined
}

const MITID = 'urn:grn:authn:dk:mitid'

/** Idura reports the eID in `authenticationtype`, with the value that acr_values requests it by. */
const IDURA: Defaults = {
  kind: 'eid',
  scopes: ['openid'],
  clientAuth: 'client_secret_basic',
  acrClaim: 'authenticationtype',
}

const iduraIssuer = ({ domain }: OidcSettings) => domain && `https://${domain}`

/** The sources are listed in docs/identity-providers.md. */
export const OIDC_PRESETS: Readonly<Record<string, OidcPreset>> = {
  'idura-mitid': {
    issuer: iduraIssuer,
    needs: ['domain'],
    defaults: {
      ...IDURA,
      acr: { [`${MITID}:substantial`]: 'substantial', [`${MITID}:high`]: 'high' },
      acrValues: [`${MITID}:substantial`],
      label: 'MitID',
      proves: 'Who you are, by the Danish national eID.',
    },
  },
  idura: {
    issuer: iduraIssuer,
    needs: ['domain', 'acr'],
    defaults: {
      ...IDURA,
      assurance: 'high',
      label: 'Bank ID',
      proves: 'Who you are, by an eID that your bank or your state has given you.',
    },
  },
  signicat: {
    issuer: ({ domain }) => domain && `https://${domain}/auth/open`,
    needs: ['domain', 'acr'],
    defaults: {
      kind: 'eid',
      scopes: ['openid'],
      clientAuth: 'client_secret_basic',
      assurance: 'high',
      label: 'eID',
      proves: 'Who you are, by an eID that your bank or your state has given you.',
    },
  },
  'id-me': {
    needs: ['scopes'],
    defaults: {
      issuer: 'https://api.id.me/oidc',
      kind: 'kyc',
      clientAuth: 'client_secret_post',
      assurance: 'substantial',
      label: 'ID.me',
      proves: 'Who you are, by a document that ID.me has checked.',
    },
  },
  'login-gov': {
    needs: [],
    defaults: {
      issuer: 'https://secure.login.gov/',
      kind: 'eid',
      scopes: ['openid'],
      clientAuth: 'private_key_jwt',
      assertionAudience: 'token-endpoint',
      acr: ['urn:acr.login.gov:verified'],
      prompt: 'select_account',
      assurance: 'substantial',
      label: 'Login.gov',
      proves: 'Who you are, as Login.gov has verified it.',
    },
  },
  'gov-uk-one-login': {
    needs: [],
    defaults: {
      issuer: 'https://oidc.account.gov.uk/',
      coreIdentity: 'https://identity.account.gov.uk/',
      kind: 'eid',
      scopes: ['openid'],
      clientAuth: 'private_key_jwt',
      assurance: 'substantial',
      label: 'GOV.UK One Login',
      proves: 'Who you are, as GOV.UK One Login has proved it, with medium confidence or more.',
    },
  },
  google: {
    needs: [],
    defaults: {
      issuer: 'https://accounts.google.com',
      kind: 'social',
      scopes: ['openid'],
      clientAuth: 'client_secret_post',
      prompt: 'select_account',
      assurance: 'low',
      label: 'Google',
      proves:
        'That you control an account at Google, one that has not verified another owner here.',
    },
  },
  microsoft: {
    issuer: ({ tenant }) => tenant && `https://login.microsoftonline.com/${tenant}/v2.0`,
    needs: ['tenant'],
    defaults: {
      kind: 'social',
      scopes: ['openid'],
      clientAuth: 'client_secret_post',
      prompt: 'select_account',
      assurance: 'low',
      label: 'Microsoft',
      proves:
        'That you control an account at Microsoft, one that has not verified another owner here.',
    },
  },
  didit: {
    needs: ['issuer', 'acr'],
    defaults: {
      kind: 'kyc',
      scopes: ['openid'],
      clientAuth: 'client_secret_post',
      assurance: 'substantial',
      label: 'Didit',
      proves: 'Who you are, by a document and a picture of you that Didit has checked.',
    },
  },
}
