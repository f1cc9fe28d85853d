import type { SignedChallenge } from './keys/signed-challenge.ts'

/** The argument of `Registry.verify`: an agent's answer to a challenge, and which of its DIDs is meant. */
export interface VerifyRequest extends SignedChallenge {
  /** For a key with several DIDs. Default: the service picks one. */
  readonly did?: string | undefined
  /** Your origin, such as `https://shop.example`: the service then accepts only a challenge for it. Default: any challenge. */
  readonly audience?: string | URL | undefined
}

/** The argument of `Registry.redeem` (contract 4.4); `Agent.claim` makes it. */
export interface ClaimRequest {
  readonly claimToken: string
  readonly agentId: string
  /** 32 bytes in padded standard base64. */
  readonly publicKey: string
  /** On `claimToken|agentId`: 64 bytes in padded standard base64. */
  readonly signature: string
}

/** The argument of `Registry.renounce`; `Agent.renounce` makes it. */
export interface RenounceRequest {
  /** `keySequence` of the agent object. */
  readonly sequence: number
  /** Unix seconds. */
  readonly issuedAt: number
  /** 64 bytes in padded standard base64. */
  readonly signature: string
}

/** The argument of `Registry.endDelegations`; `Agent.endDelegations` makes it. */
export interface EndDelegationsRequest {
  /** `keySequence` of the agent object. */
  readonly sequence: number
  /** Unix seconds. */
  readonly issuedAt: number
  /** 64 bytes in padded standard base64. */
  readonly signature: string
}

/** The argument of `Registry.proveDirectory`; `Agent.proveDirectory` makes it. */
export interface DirectoryProofRequest {
  /** The value of `Signature-Input`: one member, which covers only `"@authority";req`. */
  readonly signatureInput: string
  /** The value of `Signature`: the member of the same name. */
  readonly signature: string
}

/** The argument of `Agent.grant`: for which authorization server. Take both addresses from its metadata. */
export interface GrantRequest {
  /** `issuer` in the metadata, to the letter. */
  readonly audience: string
  /** `token_endpoint` in the metadata, to the letter. */
  readonly tokenEndpoint: string
  /** The resource to access (RFC 8707), which becomes the claim `resource`. */
  readonly resource?: string | undefined
}

/** The argument of `Registry.rotateKey`; `Agent.rotateKey` makes it. */
export interface RotateRequest {
  /** 32 bytes in padded standard base64. */
  readonly newPublicKey: string
  /** The number of the new key: `keySequence` of the agent object plus 1. */
  readonly sequence: number
  /** Unix seconds. */
  readonly issuedAt: number
  /** By the current key: 64 bytes in padded standard base64. */
  readonly oldSignature: string
  /** By the new key, over the same bytes. */
  readonly newSignature: string
}

/** The argument of `Registry.reportKey`; `Agent.reportKey` makes it. */
export interface KeyReport {
  /** The number of the key that signs, current or former. */
  readonly sequence: number
  /** Unix seconds. */
  readonly issuedAt: number
  /** By that key: 64 bytes in padded standard base64. */
  readonly signature: string
}

/** The argument of `Registry.recover`; `Agent.recover` makes it. */
export interface RecoverRequest {
  /** Such as `svc-recover-` and 32 hexadecimal characters. A secret until it is used. */
  readonly recoveryToken: string
  /** The new key: 32 bytes in padded standard base64. */
  readonly publicKey: string
  /** The number of the new key: `keySequence` of the agent object plus 1. */
  readonly sequence: number
  /** Unix seconds. */
  readonly issuedAt: number
  /** By the new key: 64 bytes in padded standard base64. */
  readonly signature: string
}

/** The argument of `Registry.vetoRecovery`; `Agent.vetoRecovery` makes it. */
export interface VetoRequest {
  /** `keySequence` of the agent object. */
  readonly sequence: number
  /** Unix seconds. */
  readonly issuedAt: number
  /** By the current key: 64 bytes in padded standard base64. */
  readonly signature: string
}
