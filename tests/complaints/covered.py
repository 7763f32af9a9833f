"""What users of other tools suffered from, in public threads, and which tests prove that ours does not do that.

A number is that of our own collection of such threads. `proven` names tests; `open` names those that are expected to
fail until the fault in ours is mended, and then move to `proven`. Where there are none, `later` says why it is not about
this version. The words on each are ours.
"""

from __future__ import annotations

from typing import NamedTuple


class Complaint(NamedTuple):
    """One complaint: where it was made, what it was, and what proves that we are free of it or why it is not ours."""

    source: str
    what: str
    proven: tuple[str, ...] = ()
    later: str = ""
    open: tuple[str, ...] = ()


VENDORS = "other vendors' boards have no reader yet"
LOGS = "kernel logs are a visible unknown until they are read"
EXERCISE = "nothing is exercised by this version"
FLEET = "one host a run; fleets and schedulers act on the exit code"
_ = Complaint

COMPLAINTS: dict[str, Complaint] = {
    "1": _(
        "enkore/i3pystatus PR 776", "another word for not supported broke the parser", ("test_spellings_of_no_value",)
    ),
    "2": _("enkore/i3pystatus#850", "[Unknown Error] in a number", ("test_spellings_of_no_value",)),
    "3": _("utkuozdemir/nvidia_gpu_exporter#68", "[n/a] in lower case", ("test_spellings_of_no_value",)),
    "4": _(
        "utkuozdemir/nvidia_gpu_exporter#384",
        "asking again and again spams a guest's log",
        ("test_a_guest_is_asked_once_and_not_for_the_histogram",),
    ),
    "5": _(
        "utkuozdemir/nvidia_gpu_exporter#203",
        "instances",
        later="instances have no rows of their own; that a board is split is told",
    ),
    "6": _(
        "CoHDI/composable-resource-operator#37",
        "one unknown field loses the query",
        ("test_a_field_that_the_board_refuses_costs_nothing_else", "test_a_refused_column_is_named"),
    ),
    "7": _(
        "influxdata/telegraf#6573",
        "an older driver's missing field stops all",
        ("test_a_missing_symbol_is_not_supported", "test_a_refused_column_is_named"),
    ),
    "8": _(
        "huggingface/candle#733",
        "a field that driver 470 lacks",
        ("test_a_missing_symbol_is_not_supported", "test_a_refused_column_is_named"),
    ),
    "9": _(
        "plambe/zabbix-nvidia-smi-multi-gpu#17",
        "a removed throttle field, then N/A",
        (
            "test_throttle_reasons_that_a_driver_no_longer_gives_are_no_throttling",
            "test_a_row_without_values_is_no_healthy_board",
        ),
    ),
    "10": _(
        "lseurttyuu/GPU-T PR 128",
        "unsupported fields are asked again",
        (
            "test_a_healthy_board_answers_everything_once",
            "test_a_guest_is_asked_once_and_not_for_the_histogram",
        ),
    ),
    "11": _(
        "netdata/netdata#15755",
        "power moved to another element",
        (
            "test_power_is_found_under_every_name_it_had",
            "test_power_limits_in_a_section_of_their_own",
        ),
    ),
    "12": _("netdata/netdata#4892", "N/A breaks charts", ("test_refused_values_are_never_zero",)),
    "13": _(
        "flashcatcloud/categraf#1056",
        "one lost card drops all",
        ("test_a_lost_board_among_healthy_ones", "test_a_lost_board_fails_alone"),
    ),
    "14": _(
        "microsoft/pai#949",
        "N/A as a number breaks an exporter",
        ("test_every_report_follows_the_schema_and_comes_back",),
    ),
    "15": _(
        "wookayin/gpustat#6", "a single bad board aborts the listing", ("test_a_board_without_a_handle_is_a_sentence",)
    ),
    "16": _(
        "NordicHPC/sonar#72",
        "one dead card bails out the tool",
        (
            "test_a_board_that_the_tool_cannot_reach_has_a_row",
            "test_the_board_that_the_tool_fails_on_is_named_as_lost",
        ),
    ),
    "17": _(
        "pytorch/test-infra PR 3967",
        "ERR! and exit code 0",
        ("test_spellings_of_no_value", "test_the_report_comes_and_tells_the_truth"),
    ),
    "18": _(
        "Datura-ai/lium-io PR 707",
        "a warning gives exit code 1 with good data",
        ("test_the_report_comes_and_tells_the_truth", "test_warnings_around_the_xml_are_told_and_read_over"),
    ),
    "19": _(
        "mozilla/translations#1167",
        "library mismatch ends with 18",
        ("test_a_driver_that_does_not_start_says_why", "test_each_exit_code_of_the_tool_has_its_cause"),
    ),
    "20": _(
        "CiscoDevNet/intersight-python-utils PR 66",
        "an error line changed its words",
        (
            "test_what_the_tool_says_beside_is_kept",
            "test_whatever_the_tool_said_is_kept",
        ),
    ),
    "21": _(
        "Osmantic/ODS PR 699", "no memory counters on unified memory", ("test_unified_memory_is_no_missing_memory",)
    ),
    "22": _(
        "leptonai/gpud PR 1170",
        "no memory counters on unified memory, in five tools",
        (
            "test_unified_memory_is_no_missing_memory",
            "test_unified_memory_meets_no_need_that_nobody_could_check",
        ),
    ),
    "23": _(
        "XuehaiPan/nvitop#5",
        "boards with instances show nothing",
        ("test_a_split_board_has_no_use_of_zero_and_keeps_the_rest",),
    ),
    "24": _(
        "NVIDIA/DCGM#152",
        "use above 100 % on boards with instances",
        (
            "test_mig_nodes_before_the_boards_own_are_not_mixed_up",
            "test_more_than_all_of_a_board_is_no_value",
            "test_more_than_all_of_a_board_is_no_value_of_the_driver_either",
        ),
    ),
    "25": _(
        "Syllo/nvtop#448",
        "memory temperature is not offered by many boards",
        (
            "test_an_idle_board_for_games_has_no_fault",
            "test_a_not_supported_is_believed_unless_a_neighbour_has_it",
        ),
    ),
    "26": _("kellyjonbrazil/jc#166", "captured output should be read", ("test_text_and_xml_of_a_board_are_one",)),
    "27": _("sosreport/sos#1685", "state under load in a bundle", later=EXERCISE),
    "28": _("youyve/nputop PR 4", "a table without a memory column", later=VENDORS),
    "29": _("lablup/all-smi PR 416", "boards vanish while busy", later=VENDORS),
    "30": _("ascend-ai-coding/awesome-ascend-skills#78", "documented and real output differ", later=VENDORS),
    "31": _("Project-HAMi/ascend-device-plugin#9", "an error with a health number", later=VENDORS),
    "32": _("Project-HAMi/HAMi#1696", "an error inside a container", later=VENDORS),
    "33": _(
        "vllm-project/vllm-ascend PR 6681",
        "a probe swallows its own failure",
        ("test_an_error_of_the_checker_is_no_success",),
    ),
    "34": _(
        "Cambricon/mlu-exporter#4",
        "a missing symbol at the start",
        ("test_a_library_without_a_start", "test_a_missing_symbol_is_not_supported"),
    ),
    "35": _(
        "ModelCloud/Device-SMI#40",
        "indexes differ between tools",
        ("test_the_report_comes_and_tells_the_truth", "test_a_board_without_an_address_is_joined_by_its_uuid"),
    ),
    "36": _("NVIDIA/DCGM#263", "healthy while the board asks for a reset", ("test_a_recovery_action_is_never_fine",)),
    "37": _("leptonai/gpud PR 810", "GPU is lost, handled late", ("test_a_lost_board_fails_alone",)),
    "38": _(
        "leptonai/gpud PR 1180", "a failing start ends the program", ("test_a_driver_that_does_not_start_says_why",)
    ),
    "39": _(
        "NVIDIA/NVSentinel#155",
        "a board fell off the bus without a fault code",
        ("test_a_board_that_only_the_bus_shows_has_a_failing_row", "test_a_board_that_an_earlier_run_had_is_missed"),
    ),
    "40": _(
        "NVIDIA/aicr#1860",
        "7 of 8 boards and no evidence",
        (
            "test_a_short_count_fails_the_need_and_leaves_evidence",
            "test_a_board_that_only_the_bus_shows_has_a_failing_row",
        ),
    ),
    "41": _(
        "NVIDIA/open-gpu-kernel-modules#1151",
        "a loss without a warning sign; do not invent a cause",
        (
            "test_a_lost_board_fails_alone",
            "test_a_lost_board_is_told_once",
        ),
    ),
    "42": _(
        "NVIDIA/gpu-operator#485",
        "containers lose their devices after a reload",
        ("test_why_a_node_cannot_be_opened", "test_the_report_comes_and_tells_the_truth"),
    ),
    "43": _("NVIDIA/gpu-operator#1065", "unhealthy once, for ever", ("test_a_board_that_works_again_is_ready_again",)),
    "44": _(
        "gpuopenanalytics/pynvml#19",
        "insufficient permissions abort all",
        (
            "test_an_ordinary_user_without_the_right",
            "test_a_container_without_the_drivers_library",
            "test_each_exit_code_of_the_tool_has_its_cause",
        ),
    ),
    "45": _(
        "NVIDIA/ubuntu-packaging-nvidia-driver#3",
        "mismatch after an unattended upgrade",
        ("test_library_and_module_of_different_versions",),
    ),
    "46": _("dstackai/dstack#2348", "CUDA error 802", ("test_all_green_and_no_job_starts",)),
    "47": _(
        "NVIDIA/NVSentinel PR 891",
        "a broken fabric manager unseen for 20 days",
        ("test_a_fabric_that_is_never_done_is_seen",),
    ),
    "48": _(
        "NVIDIA/NVSentinel#1663",
        "a missing device node makes a good board unhealthy",
        (
            "test_a_board_that_answers_needs_no_node_to_be_well",
            "test_a_container_that_was_given_two_of_eight",
        ),
    ),
    "49": _(
        "NVIDIA/gpu-operator#1190",
        "waits and does not say for what",
        ("test_what_a_board_said_before_it_hung_is_there",),
    ),
    "50": _(
        "nebius/soperator PR 2684",
        "libraries of zero bytes pass",
        (
            "test_libraries_of_zero_bytes_are_no_driver",
            "test_a_file_that_is_no_library",
            "test_a_library_that_cannot_be_loaded_is_not_called_missing",
        ),
    ),
    "51": _(
        "leptonai/gpud PR 117", "the tool hangs in state D", ("test_a_driver_that_cannot_be_ended_is_the_finding",)
    ),
    "52": _(
        "NVIDIA/gpu-monitoring-tools#46",
        "a hung tool blocks the scheduler",
        (
            "test_a_driver_that_cannot_be_ended_is_the_finding",
            "test_who_hangs_is_known_by_name_function_or_device_node",
        ),
    ),
    "53": _(
        "NVIDIA/NVSentinel#1748",
        "a degrading board stalls the call, and the errors are never told",
        (
            "test_a_slow_board_is_waited_for_and_its_errors_are_told",
            "test_what_a_board_said_before_it_hung_is_there",
        ),
    ),
    "54": _(
        "NVIDIA/NVSentinel#1576",
        "detect a driver that does not answer",
        ("test_what_hangs_is_looked_for_after_a_source_was_silent",),
    ),
    "55": _("NVIDIA/DCGM#247", "a test hangs", later=EXERCISE),
    "56": _(
        "netdata/netdata#18690", "3 s are too short", ("test_eight_boards_of_a_slow_driver_are_not_cut_off_by_default",)
    ),
    "57": _(
        "ROCm/device-metrics-exporter#565", "15 s are too short for 16 boards", ("test_more_boards_get_more_time",)
    ),
    "58": _(
        "NVIDIA/dcgm-exporter#607",
        "time-outs without the time taken",
        ("test_a_slow_board_is_waited_for_and_its_errors_are_told",),
    ),
    "59": _(
        "aws/aws-parallelcluster#6777",
        "a long check hangs the prolog",
        (
            "test_a_check_only_looks",
            "test_eight_boards_of_a_slow_driver_are_not_cut_off_by_default",
        ),
    ),
    "60": _(
        "GoogleCloudPlatform/cluster-toolkit PR 6230",
        "a broken tool drains good nodes",
        ("test_the_report_comes_and_tells_the_truth",),
    ),
    "61": _(
        "GoogleCloudPlatform/cluster-toolkit PR 5917",
        "an endless wait for the driver",
        ("test_a_driver_that_hangs_at_its_start_still_gives_every_board_a_row",),
    ),
    "62": _(
        "nebius/nebius-solutions-library PR 265",
        "a prolog must not call the scheduler",
        ("test_quiet_gives_one_line_whatever_happens", "test_one_line_gives_the_reason"),
    ),
    "63": _(
        "aws/amazon-ecs-logs-collector PR 89",
        "the vendor's report needs minutes",
        later="vendors' bug reports are not collected",
    ),
    "64": _(
        "sgl-project/sglang PR 31229", "unbounded calls eat whole jobs", ("test_the_report_comes_and_tells_the_truth",)
    ),
    "64b": _(
        "NVIDIA/open-gpu-kernel-modules#971",
        "a tool hangs after 66 days of uptime",
        later="known faults of driver versions are not in the catalog",
    ),
    "64c": _("NordicHPC/sonar#92", "a time-out is told like any death", ("test_how_a_program_ends",)),
    "65": _(
        "ROCm/TheRock#4887",
        "another vendor's tool hangs, and so does the collector",
        ("test_what_is_collected_of_a_driver_that_hangs_comes_in_time",),
    ),
    "66": _(
        "goss-org/goss#20",
        "limits for each command",
        (
            "test_a_source_that_hangs_does_not_cost_the_others",
            "test_how_a_program_ends",
        ),
    ),
    "67": _(
        "Syllo/nvtop#6",
        "an idle link shows the first generation",
        (
            "test_a_link_is_slow_only_under_load",
            "test_an_idle_board_for_games_has_no_fault",
        ),
    ),
    "68": _(
        "local-inference-lab/rtx6kpro PR 88",
        "a link flaps between two looks",
        later="one look a run; a link that is slow under load in that look is told",
    ),
    "69": _(
        "aws/aws-k8s-tester PR 806",
        "x16 demanded where the platform has fewer",
        ("test_lanes_are_judged_by_what_platforms_wire",),
    ),
    "70": _("tenstorrent/tt-smi#67", "show the width of the link", ("test_stable_keys_and_nested_facts",)),
    "71": _(
        "NVIDIA/NVSentinel#890",
        "a link that trained down",
        (
            "test_a_link_is_slow_only_under_load",
            "test_a_switch_that_lost_lanes_is_named",
        ),
    ),
    "72": _(
        "NVIDIA/DCGM#270",
        "a fixed limit is wrong for that board",
        (
            "test_the_limit_of_a_temperature_is_the_boards_own",
            "test_the_boards_own_limit_beats_margin_and_catalog",
        ),
    ),
    "73": _(
        "leptonai/gpud PR 1208",
        "a negative margin is misread",
        (
            "test_a_negative_margin_is_heat",
            "test_a_driver_without_margins_is_no_fault",
        ),
    ),
    "74": _(
        "intel/xpumanager#102",
        "a limit that nobody set counts as failure",
        ("test_a_limit_that_was_asked_in_vain_stays_missing", "test_a_missing_limit_counts_as_the_rules_own"),
    ),
    "75": _("NVIDIA/DCGM#272", "busy right after the burn", later=EXERCISE),
    "76": _(
        "NVIDIA/DCGM#284",
        "skipped tests under a green headline",
        (
            "test_a_score_never_stands_without_its_coverage",
            "test_the_verdict_is_a_word_and_no_score_stands_without_its_coverage",
        ),
    ),
    "77": _(
        "IBM/autopilot#68",
        "failed and reported healthy",
        (
            "test_links_against_catalog_and_peers",
            "test_a_failure_is_not_ready_whatever_else",
        ),
    ),
    "78": _(
        "gpustack/runtime PR 26",
        "unknown is neither healthy nor unhealthy",
        ("test_a_pass_that_becomes_unknown_raises_neither",),
    ),
    "79": _("Azure/azurehpc-health-checks PR 105", "old fault lines keep a repaired node out", later=LOGS),
    "80": _(
        "Azure/azurehpc-health-checks#142",
        "a container's set-up counts as a failure",
        ("test_a_container_with_a_masked_sys_is_unknown_and_not_broken",),
    ),
    "81": _(
        "Azure/azurehpc-health-checks#54",
        "new models unsupported for months",
        ("test_a_model_that_nobody_knows_is_still_judged",),
    ),
    "82": _(
        "Azure/azhpc-diagnostics PR 46",
        "say that a reset is enough",
        (
            "test_a_page_that_waits_needs_a_reset_and_no_new_board",
            "test_links_without_a_bridge_are_no_fault",
            "test_links_without_a_bridge_are_left_out_with_the_right_reason",
        ),
    ),
    "83": _(
        "NVIDIA/NVSentinel#1471",
        "an alarm for what the machine does not use",
        (
            "test_a_machine_without_a_fabric_has_no_alarm_of_it",
            "test_a_check_only_looks",
        ),
    ),
    "84": _(
        "NVIDIA/aicr PR 1936",
        "left out without a word",
        (
            "test_only_the_selected_board_counts",
            "test_a_board_kept_for_a_virtual_machine_is_skipped",
        ),
    ),
    "85": _(
        "microsoft/superbenchmark#626",
        "the same input, another diagnosis",
        ("test_the_same_file_gives_the_same_report", "test_the_order_of_boards_and_rules_changes_nothing"),
    ),
    "86": _(
        "aws/aws-parallelcluster-cookbook PR 3183",
        "instances keep the check from running",
        ("test_a_split_board_has_no_use_of_zero_and_keeps_the_rest",),
    ),
    "87": _(
        "flagos-ai/FlagScale PR 1064",
        "the check failed and the training started",
        ("test_a_failure_changes_the_exit_code_by_default",),
    ),
    "88": _("Skyworks-Neo/nvoc#33", "a tolerance that hides corruption", later=EXERCISE),
    "89": _(
        "oxidecomputer/hubris#2405",
        "is hot air coming in?",
        later="inlet and outlet come from the BMC, which is not read yet",
    ),
    "89b": _(
        "tigerblue77/Dell_iDRAC_fan_controller_Docker#159",
        "an unreadable sensor told as overheating",
        ("test_a_sensor_that_cannot_be_read_is_not_hot",),
    ),
    "90": _("instructlab/training#386", "preflight across vendors", later=EXERCISE),
    "91": _("dstackai/dstack#2930", "is this node fit, as a light", ("test_a_healthy_board_is_short",)),
    "92": _(
        "NVIDIA/NVSentinel#275",
        "say why it is unhealthy, for people and programs",
        (
            "test_stable_keys_and_nested_facts",
            "test_worst_board_first_and_each_cause_once",
            "test_one_line_gives_the_reason",
            "test_one_line_gives_the_reason_where_no_job_starts",
        ),
    ),
    "93": _(
        "NVIDIA/NVSentinel#122",
        "keep the evidence before the fix destroys it",
        ("test_what_is_collected_is_judged_elsewhere",),
    ),
    "94": _(
        "NVIDIA/NVSentinel#127",
        "nodes that fail again and again",
        later="history comes later; --baseline compares two runs",
    ),
    "95": _(
        "awslabs/awsome-distributed-ai#952",
        "a check script that sites can change",
        ("test_site_rules_come_between_the_shipped_and_those_asked_for",),
    ),
    "96": _("NVIDIA/gpu-operator#670", "obsolete tests", later=EXERCISE),
    "97": _("utkuozdemir/nvidia_gpu_exporter#406", "fault codes as signals", later=LOGS),
    "98": _(
        "goss-org/goss#295",
        "warnings beside failures, reports, an index one can argue with",
        (
            "test_a_check_that_was_left_out_lowers_no_score",
            "test_a_waterfall_says_what_cost_what",
            "test_skipped_and_waived_are_as_if_the_rule_were_absent",
        ),
    ),
    "99": _("XuehaiPan/nvitop PR 227", "other vendors in tools made for one", later=VENDORS),
    "100": _("kubeflow/kubeflow#68", "load first, then look at the throttle reasons", later=EXERCISE),
    "101": _(
        "Datura-ai/lium-io PR 1297",
        "a new check that does not count yet",
        ("test_a_check_on_trial_is_shown_and_does_not_count",),
    ),
}
