import { createPrivateKey, createPublicKey, sign } from 'node:crypto'

/** Who issues tokens to the workloads of the examples. The key is published here: it proves nothing elsewhere. */
export const ISSUER = 'https://kubernetes.example.com'

const KEY = createPrivateKey({
  format: 'jwk',
  key: {
    kty: 'RSA',
    n: '0XyVEfaY9o7x8ZnUfmiXRk4ALPpS3xXETjsle_MN8pIsxOs9tUowZbGl-3Oj-1OM3YVEMcoXaRIVg_w0Dm00OVkpuCeqyACiLZfqQ-HQez1MrDiZpXQmNuBW0DEANZsdNaN_wDFs2YYPE9lxn9vsWXmerc5Zo4k4o0G35jS5FFYiUQ5VZCGPAwuX5yo169Ds8ioZ2DFpF6d0HhagDT2xGDrL6Dk5lBoONB4b4u5Nc5zloI_-8v1DUSqwJ16dbZz-XOgW_cZFwp1KZtRnaDnxyVmLf_xjO0GmejIo5fYgFGLPEcXrYwXA7sW05uOLjczb932XwkZPTY7NftUh77SAcQ',
    e: 'AQAB',
    d: 'Ru2NFYNugBCfF4PToCcujPXM9m2dEH5wtGIvS1vcjZRzhwr1HkQrxcrT3aLmUyqTR8-e6tK3gXJHiaQjRf0wkPhA-WKo3sXkI1bL0UcMTSXQp4EUeKIubCciDaSBoyTNS4N7timl5rKOuVRGte8DA7p7gPKchBPqctBGATI5tgnk5bzEvTmgV6P76TALaTotSt0lWVRIkIbQsdqgV0mMpM2X9cOY9r4xpKBgpLpFiPWkgXY3U3oISoMeDVvSdkHpmKyRMDnsDNnEGN096slLXPRfqg8a1wIigi9_qSgIe6Pkbv-iRV6flNQ8yyiF2OTIWwldrtvqm3nMI62jMZpUJw',
    p: '8fClDsBZ-o5iDWm2RUGNiVT3P8G6BiDObcI2nmm6_ladn-AiPn4nODyBDkp4GBM1YzY7GhEGZqcDKrNiq6Xq60q3Z3LjbnR2HuvjcX1RBpfa39wKl7DoVFG2LxWk1j8rJqaa4fdSsDpw5poAtEnEJ53FkJt8f2-6kHK2x8r-Jmc',
    q: '3akggDoJ9QpQ-giPhh4sodac-PGXtWvZ_FHbcnFPAHcj1CT7xiH_RKqtyM4XqOwwsRwwZLu89ePIXocM7FbmYQ3odzudOrvR6X-q4bdNbV-0F1PSooT0piNQzOj1U1HvBqL-rIlPdJkVP0cJ-WqMeiMMXFxyGjfHPZ_dIo-qa2c',
    dp: 'DBzBFrD4kDuqmwNM1cDHZjWzvyRivMXNr98GPv4KF4ucjpF5BWnpar5Us7N0ubfUd2gSo2ZwzJjV5sBeUzuWPDtcXTh6PGBmPXwPwfHFKbBWi9iHSzrXFsmUdlz-CJ_W-DNlE6T_JcV3O4RAPsZmpJkYd_ngzLx6OZsUnYIDIUc',
    dq: 'OLFbKLCvf0bmMy0hWFI7ZCE6AMn53WL6W_irwfeNFzdhqI7U_nYPjgaBcEyV7JSMV6A4GGuUBuf9hX_RJFmNjuE5xdUvf6guJiSLFjQFz6WcsCK2Su7qi9uYfPBQXsEj-3SQ4pw0AERvFMIcoPhJeauhK7ZRULdXdEGBE6ffFJ0',
    qi: 'cjoAkW5waJqn8JH-lmCpj-r8yuy6GXrMBZlfbp7H244blv1bL1QyLI2rx89vTmc7TO57cUPoNoHqTVYmkzBiB7LCgJWAg1hPNE4c2aNoWRovj0MMILjEleFefp4W-g825NTsV6DzSLuw05hcT6FFpkwAx_5hnMscWcyXvMSvXGU',
  },
})

const KID = 'key-1'

/** Its public keys. */
export function examplePlatformKeys() {
  const { n, e } = createPublicKey(KEY).export({ format: 'jwk' })
  return { keys: [{ kty: 'RSA', kid: KID, use: 'sig', alg: 'RS256', n, e }] }
}

/** A token as a pod gets it. @param issuedAt Unix seconds */
export function examplePlatformToken(aud: string, sub: string, issuedAt: number): string {
  const pod = { name: 'crawler-7d4b9', uid: 'b1c5e0a2-4f0e-4d0c-9c53-5d5f3f0f7a11' }
  const claims = {
    iss: ISSUER,
    aud: [aud],
    sub,
    iat: issuedAt,
    nbf: issuedAt,
    exp: issuedAt + 3600,
    'kubernetes.io': { namespace: 'crawl', pod },
  }
  const text = [{ alg: 'RS256', kid: KID }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${text}.${sign('sha256', Buffer.from(text), KEY).toString('base64url')}`
}
