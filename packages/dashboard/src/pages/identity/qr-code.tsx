import { create } from 'qrcode'

interface QrCodeProps {
  readonly text: string
  /** The accessible name. */
  readonly label: string
}

/** The quiet zone that readers need (ISO/IEC 18004), in modules. */
const QUIET = 4

/** Dark on white in both themes, because some readers cannot read inverted codes. */
export function QrCode({ text, label }: QrCodeProps) {
  const { size, data } = create(text, { errorCorrectionLevel: 'M' }).modules
  const dark = Array.from(data, (module, at) =>
    module ? `M${at % size} ${Math.floor(at / size)}h1v1h-1z` : '',
  )
  const side = size + 2 * QUIET
  return (
    <svg
      viewBox={`${-QUIET} ${-QUIET} ${side} ${side}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
      className="size-60 rounded-lg"
    >
      <rect x={-QUIET} y={-QUIET} width={side} height={side} fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  )
}
