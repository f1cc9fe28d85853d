import type { PageContext } from './context.ts'

export interface HeadProps {
  readonly context: PageContext
  readonly title: string
  readonly description: string
  /** The address that is the page's own, or none where it is nobody's: a page that is not there. */
  readonly path: string | null
  /** What social networks show. */
  readonly image?: { readonly path: string; readonly alt: string }
  /** The same for programs, at other addresses. */
  readonly alternates?: readonly { readonly type: string; readonly href: string }[]
  /** What the page says, in the vocabulary of schema.org. */
  readonly jsonLd?: object
}

/** The id of what every page ends with. */
export const END_OF_PAGE = 'end-of-page'

export function Head(props: HeadProps) {
  const { context, title, description, path, image, alternates = [], jsonLd } = props
  const { assets, site, serviceName } = context
  const url = path === null ? null : site.baseUrl + path
  return (
    <head>
      <meta charSet="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{title}</title>
      <meta name="description" content={description} />
      {url === null ? (
        <meta name="robots" content="noindex" />
      ) : (
        <>
          <link rel="canonical" href={url} />
          <meta property="og:url" content={url} />
        </>
      )}
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content={serviceName} />
      <meta property="og:title" content={title} />
      <meta property="og:description" content={description} />
      <meta name="twitter:card" content={image === undefined ? 'summary' : 'summary_large_image'} />
      <meta name="twitter:title" content={title} />
      <meta name="twitter:description" content={description} />
      {image !== undefined && <Preview url={site.baseUrl + image.path} alt={image.alt} />}
      {/* Nothing is painted before all of it has arrived: what comes in parts would move what is there. */}
      <link rel="expect" href={`#${END_OF_PAGE}`} blocking="render" />
      <link rel="icon" href="/icon.svg" type="image/svg+xml" />
      {assets.fonts.map((href) => (
        <link key={href} rel="preload" href={href} as="font" type="font/woff2" crossOrigin="" />
      ))}
      <link rel="stylesheet" href={assets.style} />
      <script type="module" src={assets.script} />
      {alternates.map(({ type, href }) => (
        <link key={href} rel="alternate" type={type} href={href} />
      ))}
      {jsonLd !== undefined && (
        <script
          type="application/ld+json"
          // biome-ignore lint/security/noDangerouslySetInnerHtml: data, with every character escaped that could end it
          dangerouslySetInnerHTML={{ __html: scriptSafeJson(jsonLd) }}
        />
      )}
    </head>
  )
}

function Preview({ url, alt }: { readonly url: string; readonly alt: string }) {
  return (
    <>
      <meta property="og:image" content={url} />
      <meta property="og:image:type" content="image/png" />
      <meta property="og:image:width" content="1200" />
      <meta property="og:image:height" content="630" />
      <meta property="og:image:alt" content={alt} />
      <meta name="twitter:image" content={url} />
      <meta name="twitter:image:alt" content={alt} />
    </>
  )
}

const UNSAFE = /[<>&\u2028\u2029]/g

/** JSON that can stand in a `<script>`: nothing in it ends the element, begins a comment or breaks a line. */
function scriptSafeJson(value: object): string {
  return JSON.stringify(value).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
