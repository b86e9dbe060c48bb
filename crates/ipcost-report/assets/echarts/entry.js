// What of ECharts the page uses; README.md says how the vendored file is made of this.
import * as core from "echarts/core";
import { CustomChart, LineChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

core.use([CustomChart, LineChart, GridComponent, TooltipComponent, SVGRenderer]);

export const init = core.init;
export const version = core.version;
