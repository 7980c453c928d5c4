"""Configurations of switches of different shapes, as they ship or once shipped: docs/sonic.md names
the traps."""

import copy

Config = dict[str, dict[str, dict[str, str]]]

POOLS: dict[str, dict[str, str]] = {
    "ingress_lossless_pool": {
        "type": "ingress",
        "mode": "dynamic",
        "size": "32712448",
        "xoff": "1622016",
    },
    "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "32599040"},
    "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "24709632"},
}
PROFILES: dict[str, dict[str, str]] = {
    "ingress_lossy_profile": {
        "pool": "ingress_lossless_pool",
        "size": "0",
        "static_th": "32744448",
    },
    "egress_lossless_profile": {
        "pool": "egress_lossless_pool",
        "size": "0",
        "static_th": "32599040",
    },
    "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1792", "dynamic_th": "3"},
}
AZURE = {
    "wred_green_enable": "true",
    "wred_yellow_enable": "true",
    "wred_red_enable": "true",
    "ecn": "ecn_all",
    **{
        f"{colour}_{name}": value
        for colour in ("green", "yellow", "red")
        for name, value in (
            ("min_threshold", "1048576"),
            ("max_threshold", "2097152"),
            ("drop_probability", "5"),
        )
    },
}
MAPS: Config = {
    "DSCP_TO_TC_MAP": {"AZURE": {str(d): {3: "3", 4: "4"}.get(d, "0") for d in range(64)}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(tc): str(tc) for tc in range(8)}},
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {str(tc): "3" if tc == 3 else "0" for tc in range(8)}},
    "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {str(p): str(p) for p in range(8)}},
}


def base(ports: int = 4, queues: int = 7) -> Config:
    """A ToR's: DWRR 14 and 15, WRED on the lossless queues 3 and 4."""
    names = [f"Ethernet{4 * i}" for i in range(ports)]
    config: Config = {
        "PORT": {
            name: {"lanes": str(i), "speed": "100000", "mtu": "9100"}
            for i, name in enumerate(names)
        },
        **copy.deepcopy(MAPS),
        "SCHEDULER": {
            "scheduler.0": {"type": "DWRR", "weight": "14"},
            "scheduler.1": {"type": "DWRR", "weight": "15"},
        },
        "WRED_PROFILE": {"AZURE_LOSSLESS": dict(AZURE)},
        "BUFFER_POOL": copy.deepcopy(POOLS),
        "BUFFER_PROFILE": copy.deepcopy(PROFILES),
        "QUEUE": {},
        "BUFFER_QUEUE": {},
        "BUFFER_PG": {},
        "PORT_QOS_MAP": {},
    }
    for name in names:
        for queue in range(queues):
            lossless = queue in (3, 4)
            row = {"scheduler": f"scheduler.{int(lossless)}"}
            if lossless:
                row["wred_profile"] = "AZURE_LOSSLESS"
            config["QUEUE"][f"{name}|{queue}"] = row
        config["BUFFER_QUEUE"] |= {
            f"{name}|0-2": {"profile": "egress_lossy_profile"},
            f"{name}|3-4": {"profile": "egress_lossless_profile"},
            f"{name}|5-{queues - 1}": {"profile": "egress_lossy_profile"},
        }
        config["BUFFER_PG"][f"{name}|0"] = {"profile": "ingress_lossy_profile"}
        config["PORT_QOS_MAP"][name] = {
            "dscp_to_tc_map": "AZURE",
            "tc_to_queue_map": "AZURE",
            "tc_to_pg_map": "AZURE",
            "pfc_to_queue_map": "AZURE",
            "pfc_enable": "3,4",
            "pfcwd_sw_enable": "3,4",
        }
    return config


def lossy(**wred: str) -> Config:
    """Every queue lossy, with WRED."""
    config = base()
    config["WRED_PROFILE"]["AZURE_LOSSLESS"] |= wred
    for row in config["QUEUE"].values():
        row["wred_profile"] = "AZURE_LOSSLESS"
    for row in config["BUFFER_QUEUE"].values():
        row["profile"] = "egress_lossy_profile"
    return config


def configs() -> dict[str, Config]:
    """By what is special of them."""
    made = {"a ToR": base(), "one port": base(1), "lossy throughout": lossy()}

    made["a step"] = lossy(
        **{
            f"{c}_{e}_threshold": "97500"
            for c in ("green", "yellow", "red")
            for e in ("min", "max")
        }
    )
    made["no probability"] = lossy()
    for colour in ("green", "yellow", "red"):
        del made["no probability"]["WRED_PROFILE"]["AZURE_LOSSLESS"][f"{colour}_drop_probability"]

    nvidia = lossy(wred_green_enable="false", green_min_threshold=" 166912")
    nvidia["DEVICE_METADATA"] = {"localhost": {"platform": "x86_64-mlnx_msn2700-r0"}}
    made["Nvidia marks and never drops, with a blank"] = nvidia
    made["disabled elsewhere"] = lossy(wred_green_enable="false")
    missing = lossy()
    del missing["WRED_PROFILE"]["AZURE_LOSSLESS"]["wred_green_enable"]
    made["enable missing"] = missing

    made["off by size"] = lossy(
        green_min_threshold="136200192", green_max_threshold="136200192", green_drop_probability="0"
    )
    made["yellow and red differ"] = lossy(yellow_min_threshold="500000", ecn="ecn_green")
    made["ecn yellow alone"] = lossy(ecn="ecn_yellow")

    old = base()
    for row in old["BUFFER_PROFILE"].values():
        row["pool"] = f"[BUFFER_POOL|{row['pool']}]"
    for row in old["QUEUE"].values():
        row["scheduler"] = f"[SCHEDULER|{row['scheduler']}]"
    made["brackets of before 2021"] = old

    strict = lossy()
    strict["SCHEDULER"]["strict"] = {"type": "STRICT"}
    for key, row in strict["QUEUE"].items():
        if key.endswith(("|5", "|6")):
            row["scheduler"] = "strict"
    made["two strict queues"] = strict
    every = lossy()
    every["SCHEDULER"] = {n: {"type": "STRICT"} for n in ("scheduler.0", "scheduler.1")}
    made["all strict"] = every

    ranges = lossy()
    names = list(ranges["PORT"])
    ranges["QUEUE"] = {
        f"{','.join(names)}|0-6": {"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"},
        f"{names[0]}|2": {"scheduler": "scheduler.0"},
    }
    made["ranges and lists that overlap"] = ranges

    shared = base()
    shared["PORT_QOS_MAP"] = {"global": shared["PORT_QOS_MAP"]["Ethernet0"]}
    made["one map for all"] = shared

    static = lossy()
    static["BUFFER_POOL"]["egress_lossy_pool"]["mode"] = "static"
    static["BUFFER_PROFILE"]["egress_lossy_profile"] = {
        "pool": "egress_lossy_pool",
        "size": "0",
        "static_th": "1500000",
    }
    made["static parts"] = static

    paced = lossy()
    paced["SCHEDULER"]["scheduler.1"] |= {
        "meter_type": "bytes",
        "cir": "1250000000",
        "pir": "2500000000",
        "cbs": "8192",
        "pbs": "8192",
    }
    made["shaped queues"] = paced

    packets = lossy()
    packets["SCHEDULER"] = {"scheduler.0": {"weight": "14"}, "scheduler.1": {"type": "WRR"}}
    made["WRR, by type or by default"] = packets

    plain = lossy()
    for row in plain["QUEUE"].values():
        del row["scheduler"]
    del plain["SCHEDULER"]
    made["no schedulers"] = plain

    trim = lossy()
    trim["SWITCH_TRIMMING"] = {"GLOBAL": {"size": "128", "dscp_value": "48", "queue_index": "6"}}
    trim["BUFFER_PROFILE"]["q_trim"] = {
        "pool": "egress_lossy_pool",
        "size": "0",
        "dynamic_th": "-1",
        "packet_discard_action": "trim",
    }
    for name in trim["PORT"]:
        trim["BUFFER_QUEUE"][f"{name}|1"] = {"profile": "q_trim"}
    made["trimming"] = trim

    watched = base()
    watched["PFC_WD"] = {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "400"},
    }
    watched["CABLE_LENGTH"] = {"AZURE": dict.fromkeys(watched["PORT"], "40m")}
    watched["DOT1P_TO_TC_MAP"] = {"AZURE": {str(p): str(p) for p in range(8)}}
    watched["LOSSLESS_TRAFFIC_PATTERN"] = {
        "AZURE": {"mtu": "1024", "small_packet_percentage": "100"}
    }
    watched["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = {"AZURE": {"default_dynamic_th": "0"}}
    watched["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"] = {
        "pool": "ingress_lossless_pool",
        "size": "4608",
        "xon": "4608",
        "xoff": "160000",
        "xon_offset": "2560",
        "dynamic_th": "0",
    }
    watched["BUFFER_PG"]["Ethernet0|3-4"] = {"profile": "pg_lossless_100000_40m_profile"}
    watched["BUFFER_PORT_INGRESS_PROFILE_LIST"] = {
        "Ethernet0": {"profile_list": "ingress_lossy_profile,pg_lossless_100000_40m_profile"}
    }
    watched["BUFFER_PORT_EGRESS_PROFILE_LIST"] = {
        "Ethernet0": {"profile_list": "egress_lossless_profile, egress_lossy_profile"}
    }
    made["everything lossless"] = watched

    bare = lossy()
    del bare["PORT"]
    made["no PORT"] = bare

    kinds = lossy()
    kinds["WRED_PROFILE"]["UPLINK"] = dict(AZURE) | {"green_min_threshold": "250000"}
    for queue in range(7):
        kinds["QUEUE"][f"Ethernet4|{queue}"]["wred_profile"] = "UPLINK"
        del kinds["QUEUE"][f"Ethernet12|{queue}"]["wred_profile"]
    made["ports that differ in WRED"] = kinds

    slow = lossy()
    for i, row in enumerate(slow["PORT"].values()):
        row["speed"] = ("10000", "40000")[i % 2]
    made["two speeds"] = slow
    return made


def differing() -> Config:
    """Ports whose queues differ."""
    config = lossy()
    config["SCHEDULER"]["scheduler.2"] = {"type": "DWRR", "weight": "50"}
    config["QUEUE"]["Ethernet4|3"]["scheduler"] = "scheduler.2"
    return config


def changed(config: Config, table: str, key: str, name: str, value: str | None) -> Config:
    """With one field another, or gone."""
    made = copy.deepcopy(config)
    if value is None:
        del made[table][key][name]
    else:
        made[table][key][name] = value
    return made
