import { webcrypto } from 'node:crypto'

/** A certificate and its private key, in PEM. */
export interface CertifiedKey {
  readonly key: string
  readonly cert: string
}

/** An authority that certifies test servers. */
export interface TestAuthority {
  readonly certificate: string
  certify(names: readonly string[]): Promise<CertifiedKey>
}

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const
const DAY = 86_400_000

/** Creates an authority with a key of its own; what it certifies is valid from yesterday until tomorrow. */
export async function createAuthority(name: string): Promise<TestAuthority> {
  // It reads decorators' metadata, which comes from another package.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  x509.cryptoProvider.set(webcrypto as never)
  const validity = {
    notBefore: new Date(Date.now() - DAY),
    notAfter: new Date(Date.now() + DAY),
    signingAlgorithm: SIGNING,
  }
  const authorityKeys = await generateKeys()
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: `CN=${name}`,
    keys: authorityKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  })
  return {
    certificate: authority.toString('pem'),
    async certify(names) {
      const keys = await generateKeys()
      const certificate = await x509.X509CertificateGenerator.create({
        ...validity,
        subject: 'CN=test server',
        issuer: authority.subject,
        publicKey: keys.publicKey,
        signingKey: authorityKeys.privateKey,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
        ],
      })
      const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
      return {
        key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'),
        cert: certificate.toString('pem'),
      }
    },
  }
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(CURVE, true, [
    'sign',
    'verify',
  ]) as Promise<webcrypto.CryptoKeyPair>
}
