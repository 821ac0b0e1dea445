import { useQuery } from '@tanstack/react-query'
import type { OperatorQuote } from '../../../src/wire/videos.ts'
import { call } from '../api.ts'
import { isFree, type ModelRow } from '../models.ts'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { useAmount } from './money.tsx'

interface NoPriceProps {
  model: ModelRow | undefined
  /** The request, if its provider's price is to be shown to operators. */
  body?: object
}

/** In place of a price: nothing is charged to the token. The provider may charge the operator all the same. */
export function NoPrice({ model, body }: NoPriceProps) {
  const t = useText()
  const seesAll = useMay()('see all')
  if (model && isFree(model)) return <span>{t('play.free')}</span>
  return (
    <>
      <span>{t('price.notCharged')}</span>
      {body && seesAll && <ProviderCost body={body} />}
    </>
  )
}

const quotePath = '/operator/v1/quote'

/** For operators: what the provider charges for such a request. */
export function ProviderCost({ body }: { body: object }) {
  const t = useText()
  const format = useAmount()
  const { data } = useQuery({
    queryKey: [quotePath, JSON.stringify(body)],
    staleTime: 60_000,
    queryFn: ({ signal }) => call<OperatorQuote>(quotePath, { method: 'POST', body, signal }),
  })
  if (!data) return null
  const { cost } = data
  return (
    <span>{cost ? t('price.provider', { cost: format(cost.cost, cost.currency) }) : t('price.providerUnknown')}</span>
  )
}
