// Made by `npm run schema` from the OpenAPI document of src/rest; do not edit.
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
// biome-ignore-all assist: generated

export interface paths {
    "/gpus/pricing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The public price sheet.
         * @description One entry for each GPU model, with its price in each mode and the GPUs that are free now. Needs no key.
         */
        get: operations["getPricing"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/offers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Machines that can be deployed now, cheapest first.
         * @description Ordered by on-demand price of the whole machine, then higher reliability, then machine id. An unknown model or region gives an empty list. Needs no key.
         */
        get: operations["listOffers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/balance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Credit left and spend of this month, right to the second.
         * @description Settled at each read: every second until now is charged. The month is the UTC month.
         */
        get: operations["getBalance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The active instances of the account, newest first.
         * @description Running and stopped instances. A destroyed one is still found by its id.
         */
        get: operations["listInstances"];
        put?: never;
        /**
         * Rents a machine; the hourly rate is locked for the life of the instance.
         * @description The machine must be free, or held by an interruptible instance alone if the new one is not interruptible. The balance must cover one hour of everything that the account would then be paying.
         */
        post: operations["deployInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One instance of the account, also a destroyed one.
         * @description State, locked price, hostname and times. An instance of another account is answered like one that does not exist.
         */
        get: operations["getInstance"];
        put?: never;
        post?: never;
        /**
         * Destroys an instance: the same as the action destroy.
         * @description Allowed while the instance is running or stopped. Ends all billing and erases the disk. Leaving a reserved term early returns its discount.
         */
        delete: operations["destroyInstance"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Starts, stops or destroys an instance.
         * @description `stop` ends GPU billing; the disk is billed until the instance is destroyed. `start` takes the same machine back if it is free and the balance covers it. `destroy` erases the disk.
         */
        post: operations["actOnInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/launch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What an instance was launched with, and what ends it.
         * @description For tools that compare it with what is wanted. `launch` has the members of a deploy, and is null where the template said it all; secrets are shown by name.
         */
        get: operations["getInstanceLaunch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/web-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A token that lets programs in to a private web port for a day.
         * @description Send it in the header `X-Web-Token` to the address; the container does not receive it. It ends with the API key that requested it. Without a port it is for the first.
         */
        post: operations["createWebToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Goes on elsewhere: rents the best machine on another host for what an instance with volumes ran.
         * @description The instance is stopped, destroyed within 7 days, or on a host that was not heard from for 20 minutes; its volumes are saved. The answer is the new instance, at the price of now. The old one keeps its own disk until it is destroyed.
         */
        post: operations["moveInstance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What an instance does now, in Prometheus's text format.
         * @description The newest sample, of the last 60 s, in base units; of an instance without one only whether it runs. For a Prometheus of your own: set `honor_labels`, scrape every 10 s or more rarely.
         */
        get: operations["scrapeInstance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/metrics/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What an instance did, by default within the last hour.
         * @description In the finest steps that are kept of the whole time: 10 s for an hour, 60 s for 2 days, 900 s for 90 days. There is no point where nothing was measured.
         */
        get: operations["getInstanceMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/instances/{id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All that is known to have happened to an instance, newest first.
         * @description Rented, started, stopped and why, what its container and its machine did, its volumes, and what keys of the account asked for, of the last 90 days. Older entries: `after` with the `end_cursor` of the page.
         */
        get: operations["getInstanceTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The volumes of the account, oldest first.
         * @description At most 100. A deleted one is still found by its id.
         */
        get: operations["listVolumes"];
        put?: never;
        /**
         * Creates a volume, billed by the second until it is deleted.
         * @description Its rate per GB-hour is locked for life. The balance must cover one hour of everything that the account would then be paying.
         */
        post: operations["createVolume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One volume of the account, with its snapshots.
         * @description A deleted one too. Snapshots are the newest 100, newest first. A volume of another account is answered like one that does not exist.
         */
        get: operations["getVolume"];
        put?: never;
        post?: never;
        /**
         * Deletes a volume with all its snapshots.
         * @description Refused while an instance has it. Ends its billing.
         */
        delete: operations["deleteVolume"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes/{id}/grow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes a volume larger; it never shrinks.
         * @description Billed from the next second on. An instance that has it sees the new size from its next start on.
         */
        post: operations["growVolume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Takes a volume from an instance that does not run, whatever it has not saved.
         * @description For a host that does not come back, or does not say that it is done. What the instance wrote since `lost_since` is lost.
         */
        post: operations["releaseVolume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ActionRequest: {
            /**
             * @description What to do to the instance.
             * @enum {string}
             */
            action: "start" | "stop" | "destroy";
        };
        /** @description A change that a key of the account asked for. */
        Activity: {
            /**
             * Format: date-time
             * @description When; of several refusals the last.
             */
            at: string;
            /** @description The mutation in GraphQL that it was or went through; start, stop or destroy for an action. */
            operation: string;
            /** @description Ids and names of what it was about, never values. */
            targets: string[];
            /** @description The API key that asked. */
            key_id: string;
            /** @description Whether by a console session made from that key. */
            by_console: boolean;
            /** @description Where it came from. */
            address: string;
            /** @description Why it was refused; null when it was done. */
            code: string | null;
            /** @description Refusals of one key, operation and code within a clock hour are one entry: how many. */
            times: number;
        };
        /** @description A volume of an instance. */
        AttachedVolume: {
            /** @description Of the volume: `v-` and 8 hex characters. */
            id: string;
            /** @description Where its container has it. */
            path: string;
        };
        /** @description The account's credit and spend, accurate to the second. */
        Balance: {
            /** @constant */
            object: "balance";
            /** @description Always USD. */
            currency: string;
            /** @description Credit left. Only the disks of stopped instances, and volumes, can take it below zero. */
            balance: number;
            /** @description Spend since the first of the UTC month. */
            month_spend: number;
        };
        CreateVolumeRequest: {
            /** @description What you call the volume; need not be unique. */
            name: string;
            /** @description Size of the volume in GB. It grows, it never shrinks. */
            size_gb: number;
        };
        DeployRequest: {
            /** @description The id of the machine to rent, from the offers. */
            machine_id: string;
            /** @description A template slug or an OCI image reference. The machine's host agent pulls the image and runs a container of it; a machine without an agent records it only. */
            template?: string | null;
            /** @description Disk size in GB, from 1 to the machine's free disk (the offer's disk). */
            disk_gb?: number | null;
            /** @description How the instance is priced. */
            type?: ("od" | "interruptible" | "res" | "spot") | null;
            /** @description What you call the instance; need not be unique. By default its id. */
            name?: string | null;
            /** @description Environment variables of the container, by name. They override the template's; what the service sets overrides them. */
            env?: {
                [key: string]: string;
            } | null;
            /** @description Secrets of the account that the container gets, each as a variable or as a file below /run/secrets that only root reads. */
            secrets?: {
                secret: string;
                variable?: string | null;
                file?: string | null;
            }[] | null;
            /** @description Instead of the image's entrypoint. The image's own command is then left out. */
            entrypoint?: string[] | null;
            /** @description Instead of the image's command: the arguments of its entrypoint. */
            command?: string[] | null;
            /** @description Ports on which programs in the container serve HTTP, after the template's own. */
            ports?: {
                port: number;
                name?: string | null;
            }[] | null;
            /** @description Ports that anybody may reach by TCP, each at a port of the service itself, which the instance keeps until it is destroyed. */
            tcp_ports?: number[] | null;
            /** @description Name of the registry login, a secret of the account, that the image is pulled with. */
            registry_login?: string | null;
            /** @description Whether the command is started again when it ends. By default ALWAYS. */
            restart?: ("always" | "on_failure" | "never") | null;
            /** @description What becomes of the instance when its command has ended and is not started again. By default KEEP. */
            on_exit?: ("keep" | "stop" | "destroy") | null;
            /** @description When the instance stops by itself; its disk stays. Its GPU is billed up to that second. Write a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z. */
            stop_at?: string | null;
            /** @description When the instance is destroyed by itself, with its disk. It is billed up to that second. Write a time from now such as 90m, 8h or 2d12h, or an instant such as 2026-11-23T18:00:00Z. */
            destroy_at?: string | null;
            /** @description What the instance may cost in all, in USD: GPU and disk, a minimum after preempting another, an early exit. It stops at the second at which that is reached; its disk stays and is billed. */
            spend_limit?: number | null;
            /** @description Minutes after which the instance stops by itself when no GPU of it was busy above 5 % and nobody was connected; its disk stays and is billed. Needs a machine whose host agent says how busy GPUs are. A convenience: what the agent says is not proof, a spend limit is what holds. */
            stop_when_idle?: number | null;
            /** @description Volumes of the account that the container has, each at its path. One instance at a time has a volume; /workspace takes the place of that folder of the instance's own disk. */
            volumes?: {
                id: string;
                path: string;
            }[] | null;
        };
        /** @description One rental of a machine. */
        DestroyedInstance: {
            /** @constant */
            object: "instance";
            /** @description `i-` and 8 hex characters. */
            id: string;
            /**
             * @description State.
             * @enum {string}
             */
            status: "running" | "stopped" | "destroyed";
        };
        Error: {
            error: {
                /** @enum {string} */
                code: "invalid_json" | "unauthorized" | "forbidden" | "not_found" | "no_route" | "method_not_allowed" | "deploy_failed" | "action_failed" | "idempotency_in_progress" | "payload_too_large" | "invalid_request" | "missing_machine" | "bad_action" | "idempotency_mismatch" | "rate_limited" | "internal" | "unavailable";
                message: string;
            };
        };
        /** @description What one GPU of an instance did in the seconds of a point: means, where several samples are in them. */
        GpuMetrics: {
            /** @description Its number among the instance's GPUs, from 0. */
            place: number;
            /** @description Share of the time in which a kernel ran. Null: not known. */
            busy_percent: number | null;
            /** @description The greatest such share of a sample. Null: not known. */
            busy_max_percent: number | null;
            /** @description Memory in use, in MiB. Null: not known. */
            memory_used_mb: number | null;
            /** @description Memory that it has, in MiB. Null: not known. */
            memory_total_mb: number | null;
            /** @description Power that it draws, in watts. Null: not known. */
            power_watts: number | null;
            /** @description Temperature in degrees Celsius. Null: not known. */
            celsius: number | null;
            /** @description Clock of its processors, in MHz. Null: not known. */
            sm_mhz: number | null;
            /** @description Memory errors that could not be corrected, since the host loaded its driver. Null: not known. */
            faults: number | null;
            /** @description Processes that compute on it. Null: not known. */
            processes: number | null;
        };
        /** @description The price of one GPU model. */
        GpuPrice: {
            /** @description Slug of the model. */
            slug: string;
            /** @description Display name of the model. */
            name: string;
            /** @description Video memory of one GPU in GB. */
            vram_gb: number;
            /**
             * @description Class of the model.
             * @enum {string}
             */
            tier: "flagship" | "datacenter" | "consumer-flagship" | "consumer";
            /** @description USD per GPU-hour. */
            price_per_gpu_hour: components["schemas"]["ModePrices"];
            /** @description Market median in USD per GPU-hour at the snapshot date; null with fewer than 5 listings. */
            market_median: number | null;
            /** @description GPUs in the model's offers now. */
            available_gpus: number;
            /** @description Address of the model's offers. */
            url: string;
        };
        GrowVolumeRequest: {
            /** @description Size of the volume in GB. It grows, it never shrinks. */
            size_gb: number;
        };
        /** @description One rental of a machine. */
        Instance: {
            /** @constant */
            object: "instance";
            /** @description `i-` and 8 hex characters. */
            id: string;
            /**
             * @description State.
             * @enum {string}
             */
            status: "running" | "stopped" | "destroyed";
            /** @description Slug of the GPU model. */
            gpu: string;
            /** @description GPUs of the machine. */
            num_gpus: number;
            /** @description Region code. */
            region: string;
            /** @description Template slug or OCI image reference. */
            template: string;
            /** @description Disk size in GB. */
            disk_gb: number;
            /**
             * @description How it is priced.
             * @enum {string}
             */
            type: "od" | "spot" | "res";
            /** @description Locked rate of the whole machine in USD per hour, without disk. */
            price_hr: number;
            /** @description The hostname of the instance. */
            hostname: string;
            /**
             * Format: date-time
             * @description First second billed.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The end of the second it stopped in, the last that was billed for GPUs. Null while it runs.
             */
            stopped_at: string | null;
        };
        /** @description One rental of a machine. */
        InstanceLaunch: {
            /** @constant */
            object: "instance_launch";
            /** @description `i-` and 8 hex characters. */
            id: string;
            /** @description The name of its launch; without one its id. */
            name: string;
            /** @description Template slug or OCI image reference. */
            template: string;
            /** @description Disk size in GB. */
            disk_gb: number;
            /**
             * @description How it is priced.
             * @enum {string}
             */
            type: "od" | "spot" | "res";
            /**
             * Format: date-time
             * @description The second at which it stops by itself; null for none, and once that is over.
             */
            stop_at: string | null;
            /**
             * Format: date-time
             * @description The second at which it is destroyed by itself; null for none.
             */
            destroy_at: string | null;
            /** @description What it may cost in all; null for no limit. */
            spend_limit: number | null;
            /** @description Minutes without a busy GPU and without connections after which it stops; null: it does not. */
            stop_when_idle: number | null;
            /** @description Its volumes, by path. */
            volumes: components["schemas"]["AttachedVolume"][];
            /** @description What its renter launched beside template and disk; null when the template says it all. */
            launch: components["schemas"]["Launch"] | null;
        };
        InstanceList: {
            /** @constant */
            object: "instances";
            data: components["schemas"]["Instance"][];
        };
        /** @description What an instance did over a time. */
        InstanceMetrics: {
            /** @constant */
            object: "instance_metrics";
            /** @description Seconds of each point. */
            step_seconds: number;
            /** @description Oldest first. There is no point where nothing was measured. */
            points: components["schemas"]["MetricPoint"][];
        };
        /** @description What its renter launched, beside template and disk. A secret is shown by its name alone. */
        Launch: {
            /** @description What its renter calls the instance. */
            name: string | null;
            /** @description Variables by name. */
            env: {
                [key: string]: string;
            };
            /** @description Secrets. */
            secrets: components["schemas"]["LaunchSecret"][];
            /** @description Null: the image's own. */
            entrypoint: string[] | null;
            /** @description Null: the template's, or the image's own. */
            command: string[] | null;
            /** @description Ports. */
            ports: components["schemas"]["LaunchPort"][];
            /** @description Ports reached by TCP. */
            tcp_ports: number[];
            /** @description Name of the registry login. */
            registry_login: string | null;
            /**
             * @description When the command is started again.
             * @enum {string}
             */
            restart: "always" | "never" | "on_failure";
            /**
             * @description What becomes of the instance at the end of the command.
             * @enum {string}
             */
            on_exit: "destroy" | "keep" | "stop";
        };
        /** @description A port that a program in the container serves HTTP on. */
        LaunchPort: {
            /** @description Port in the container. */
            port: number;
            /** @description Its name for people. */
            name: string | null;
        };
        /** @description A secret that the container gets. */
        LaunchSecret: {
            /** @description Name of the secret. */
            secret: string;
            /** @description Name of the variable; null for a file. */
            variable: string | null;
            /** @description Name below /run/secrets; null for a variable. */
            file: string | null;
        };
        /** @description What an instance did, as the host agent of its machine measured it, in the seconds that begin at `at`: means, where several samples are in them. */
        MetricPoint: {
            /**
             * Format: date-time
             * @description The first second.
             */
            at: string;
            /** @description Share of the time of its vCPUs. Null: not known. */
            cpu_percent: number | null;
            /** @description Memory in use, without what the system can drop. Null: not known. */
            memory_used_bytes: number | null;
            /** @description Disk in use. Null: not known. */
            disk_used_bytes: number | null;
            /** @description Received. Null: not known. */
            network_in_bytes_per_second: number | null;
            /** @description Sent. Null: not known. */
            network_out_bytes_per_second: number | null;
            /** @description Processes and threads in its container. Null: not known. */
            processes: number | null;
            /** @description Its GPUs, by place. */
            gpus: components["schemas"]["GpuMetrics"][];
        };
        /** @description USD per GPU-hour in each mode, billed per second. */
        ModePrices: {
            /** @description On demand. */
            on_demand: number;
            /** @description Interruptible. */
            interruptible: number;
            /** @description Reserved for 3 months. */
            reserved: number;
        };
        MoveRequest: {
            /** @description Maximum price in USD per hour for the whole machine in the chosen mode, without disk. */
            max_price_per_hour?: number | null;
        };
        /** @description Network bandwidth in megabits per second. */
        NetMbps: {
            /** @description To the machine. */
            down: number;
            /** @description From the machine. */
            up: number;
        };
        /** @description A machine that can be deployed now, with its price. */
        Offer: {
            /** @description The machine id that deploy takes. */
            machine_id: string;
            /** @description Slug of the GPU model. */
            gpu: string;
            /** @description GPUs in the machine, 1 to 8. It is rented whole. */
            num_gpus: number;
            /** @description Region code. */
            region: string;
            /** @description CPU model. */
            cpu: string;
            /** @description Virtual CPUs. */
            vcpus: number;
            /** @description Memory in GB. */
            ram_gb: number;
            /** @description Disk in GB that is free for a new instance. */
            disk_gb: number;
            /** @description Network bandwidth. */
            net_mbps: components["schemas"]["NetMbps"];
            /** @description Number of ports that can be opened to the internet. */
            ports: number;
            /** @description PCIe generation. */
            pcie: number;
            /** @description Whether the GPUs are linked by NVLink. */
            nvlink: boolean;
            /** @description Highest CUDA version its driver runs; empty for AMD. */
            cuda_max: string;
            /** @description Share of time the machine was up, 0 to 1. */
            reliability: number;
            /** @description Price of the whole machine. */
            price_per_hour: components["schemas"]["OfferPrices"];
        };
        OfferList: {
            /** @constant */
            object: "offers";
            count: number;
            data: components["schemas"]["Offer"][];
        };
        /** @description USD per hour for the whole machine. */
        OfferPrices: {
            /** @description On demand. */
            on_demand: number;
            /** @description Interruptible. */
            interruptible: number;
        };
        /** @description The position of a page in its list. */
        PageInfo: {
            /** @description True when entries follow. */
            has_next_page: boolean;
            /** @description True when entries precede. */
            has_previous_page: boolean;
            /** @description Cursor of the first entry; null on an empty page. */
            start_cursor: string | null;
            /** @description Cursor of the last entry; null on an empty page. */
            end_cursor: string | null;
        };
        /** @description The public price sheet. */
        PriceSheet: {
            /** @constant */
            object: "gpu_pricing";
            /** @description Always USD. */
            currency: string;
            /** @description Always per_second. */
            billing: string;
            /** @description The pricing rule as text. */
            price_rule: string;
            /**
             * Format: date
             * @description The date the prices refer to.
             */
            market_snapshot: string;
            /** @description Number of entries in data. */
            count: number;
            /** @description One entry per GPU model. */
            data: components["schemas"]["GpuPrice"][];
        };
        /** @description Prometheus's text format. */
        PrometheusText: string;
        /** @description A page of what happened. */
        Timeline: {
            /** @constant */
            object: "timeline";
            /** @description The position of this page in its list. */
            page_info: components["schemas"]["PageInfo"];
            data: components["schemas"]["TimelineEntry"][];
        };
        /** @description One thing that happened to an instance. What its kind says nothing of is null. */
        TimelineEntry: {
            /** @description Marks this entry: pass it as after or before to continue from here. */
            cursor: string;
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /**
             * @description What happened.
             * @enum {string}
             */
            kind: "changed" | "credited" | "destroyed" | "failed" | "gpu_back" | "gpu_missing" | "idle" | "limit_reached" | "reachable" | "rented" | "running" | "started" | "stopped" | "unreachable" | "volume_lost" | "volume_stored";
            /** @description Of a start: what GPUs and disk cost an hour from then on. */
            rate_per_hour: number | null;
            /** @description Of an end: what its GPUs cost since the start. Of what was given back: that. */
            amount: number | null;
            /** @description Of an end: how long it ran. Of what was given back: for how long. */
            seconds: number | null;
            /** @description Of an end: why. Null where an earlier version did not keep it. */
            stop_reason: ("account_suspended" | "balance_exhausted" | "command_ended" | "deadline" | "idle" | "operator" | "preempted" | "spend_limit" | "start_failed" | "user") | null;
            /** @description Of a start that failed: whether the machine was at fault. */
            host_fault: boolean | null;
            /** @description The volume. */
            volume_id: string | null;
            /** @description Its name. */
            volume_name: string | null;
            /** @description Of a volume that was stored: the size of all its files; null where nobody said. */
            size_bytes: number | null;
            /** @description Who asked for it; null where no key did, and after 90 days. */
            asked: components["schemas"]["Activity"] | null;
        };
        /** @description A disk of the account's own, which survives the machines that its instances run on. */
        Volume: {
            /** @constant */
            object: "volume";
            /** @description `v-` and 8 hex characters. */
            id: string;
            /** @description What its owner calls it. */
            name: string;
            /** @description Size in GB. */
            size_gb: number;
            /** @description USD per hour of its size, at the rate that was locked when it was created. */
            price_hr: number;
            /**
             * Format: date-time
             * @description From this second on it is billed.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description It was billed up to then; null while it is there.
             */
            deleted_at: string | null;
            /** @description The instance that has it, from its start until its last snapshot is stored; null while none does. */
            in_use_by: string | null;
            /** @description Bytes that its snapshots take, compressed and each part once. */
            stored_bytes: number;
            /**
             * Format: date-time
             * @description When its newest snapshot was stored; null before the first.
             */
            last_snapshot_at: string | null;
        };
        VolumeList: {
            /** @constant */
            object: "volumes";
            data: components["schemas"]["Volume"][];
        };
        /** @description A volume that was taken from an instance. */
        VolumeRelease: {
            /** @constant */
            object: "volume_release";
            /** @description The volume, which is free now. */
            volume_id: string;
            /** @description The instance that had it. */
            instance_id: string;
            /**
             * Format: date-time
             * @description What the instance wrote from then on is lost; null where it never had access.
             */
            lost_since: string | null;
        };
        /** @description What a volume held at one moment. */
        VolumeSnapshot: {
            /** @description restic's own id of it: 64 hex characters. */
            id: string;
            /**
             * Format: date-time
             * @description When its last byte was stored.
             */
            at: string;
            /** @description Bytes of all its files; null where nobody said. */
            size_bytes: number | null;
            /** @description The instance that it is of; null for the owner's own. */
            instance_id: string | null;
        };
        /** @description A disk of the account's own, which survives the machines that its instances run on. */
        VolumeWithSnapshots: {
            /** @constant */
            object: "volume";
            /** @description `v-` and 8 hex characters. */
            id: string;
            /** @description What its owner calls it. */
            name: string;
            /** @description Size in GB. */
            size_gb: number;
            /** @description USD per hour of its size, at the rate that was locked when it was created. */
            price_hr: number;
            /**
             * Format: date-time
             * @description From this second on it is billed.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description It was billed up to then; null while it is there.
             */
            deleted_at: string | null;
            /** @description The instance that has it, from its start until its last snapshot is stored; null while none does. */
            in_use_by: string | null;
            /** @description Bytes that its snapshots take, compressed and each part once. */
            stored_bytes: number;
            /**
             * Format: date-time
             * @description When its newest snapshot was stored; null before the first.
             */
            last_snapshot_at: string | null;
            /** @description Its snapshots, newest first; at most 100. */
            snapshots: components["schemas"]["VolumeSnapshot"][];
        };
        /** @description Lets programs in to a private port, such as curl or an SDK. */
        WebToken: {
            /** @constant */
            object: "web_token";
            /** @description Send it with each request. It is shown only once. */
            token: string;
            /** @description The header that carries it; the container does not receive it. */
            header: string;
            /** @description Address of the port. */
            url: string;
            /**
             * Format: date-time
             * @description End of its validity, after a day.
             */
            expires_at: string;
        };
        WebTokenRequest: {
            /** @description Port that a program in the container listens on. */
            port?: number | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getPricing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PriceSheet"];
                };
            };
        };
    };
    listOffers: {
        parameters: {
            query?: {
                /** @description Slug or name of a GPU model, as in the price sheet. A name such as H100 stands for all its models. */
                gpu?: string;
                /** @description Region code. */
                region?: string;
                /** @description Minimum number of GPUs in the machine. */
                num_min?: number;
                /** @description Maximum on-demand price in USD per hour for the whole machine. */
                price_max?: number;
                /** @description CUDA version that the driver must run at least, such as 12.4. Machines of AMD run none. */
                cuda_min?: string;
                /** @description Maximum number of offers returned. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OfferList"];
                };
            };
        };
    };
    getBalance: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Balance"];
                };
            };
        };
    };
    listInstances: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstanceList"];
                };
            };
        };
    };
    deployInstance: {
        parameters: {
            query?: never;
            header?: {
                /** @description A text of your choice that identifies this request. Sent again within 24 hours with the same input, it repeats the first answer and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeployRequest"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    getInstance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    destroyInstance: {
        parameters: {
            query?: never;
            header?: {
                /** @description A text of your choice that identifies this request. Sent again within 24 hours with the same input, it repeats the first answer and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DestroyedInstance"];
                };
            };
        };
    };
    actOnInstance: {
        parameters: {
            query?: never;
            header?: {
                /** @description A text of your choice that identifies this request. Sent again within 24 hours with the same input, it repeats the first answer and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "action": "stop"
                 *     }
                 */
                "application/json": components["schemas"]["ActionRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    getInstanceLaunch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstanceLaunch"];
                };
            };
        };
    };
    createWebToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebTokenRequest"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebToken"];
                };
            };
        };
    };
    moveInstance: {
        parameters: {
            query?: never;
            header?: {
                /** @description A text of your choice that identifies this request. Sent again within 24 hours with the same input, it repeats the first answer and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoveRequest"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    scrapeInstance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": components["schemas"]["PrometheusText"];
                };
            };
        };
    };
    getInstanceMetrics: {
        parameters: {
            query?: {
                /** @description The first second. By default an hour before the end. Write an instant such as 2026-11-23T18:00:00Z. */
                from?: string;
                /** @description The end, exclusive. By default, and if it is in the future, now. Write an instant such as 2026-11-23T18:00:00Z. */
                to?: string;
                /** @description How many points to return at most: longer steps are made of shorter ones. */
                points?: number;
            };
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstanceMetrics"];
                };
            };
        };
    };
    getInstanceTimeline: {
        parameters: {
            query?: {
                /** @description Entries from the start, 1 to 100; 25 by default. */
                first?: number;
                /** @description Cursor that the page begins after. */
                after?: string;
                /** @description Entries from the end, 1 to 100. */
                last?: number;
                /** @description Cursor that the page ends before. */
                before?: string;
            };
            header?: never;
            path: {
                /** @description Instance id: `i-` and 8 hex characters. Any other text is an unknown instance. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeline"];
                };
            };
        };
    };
    listVolumes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeList"];
                };
            };
        };
    };
    createVolume: {
        parameters: {
            query?: never;
            header?: {
                /** @description A text of your choice that identifies this request. Sent again within 24 hours with the same input, it repeats the first answer and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "work",
                 *       "size_gb": 200
                 *     }
                 */
                "application/json": components["schemas"]["CreateVolumeRequest"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
        };
    };
    getVolume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Volume id: `v-` and 8 hex characters. Any other text is an unknown volume. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeWithSnapshots"];
                };
            };
        };
    };
    deleteVolume: {
        parameters: {
            query?: never;
            header?: {
                /** @description A text of your choice that identifies this request. Sent again within 24 hours with the same input, it repeats the first answer and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Volume id: `v-` and 8 hex characters. Any other text is an unknown volume. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
        };
    };
    growVolume: {
        parameters: {
            query?: never;
            header?: {
                /** @description A text of your choice that identifies this request. Sent again within 24 hours with the same input, it repeats the first answer and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Volume id: `v-` and 8 hex characters. Any other text is an unknown volume. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "size_gb": 200
                 *     }
                 */
                "application/json": components["schemas"]["GrowVolumeRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
        };
    };
    releaseVolume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Volume id: `v-` and 8 hex characters. Any other text is an unknown volume. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeRelease"];
                };
            };
        };
    };
}
